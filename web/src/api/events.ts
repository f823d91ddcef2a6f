// Hints from the gateway: what changed, never how. Pages read their own queries again.
// Tabs share one stream: the tab that holds the lock listens and informs the others; when it closes, another tab gets the lock.
// Where there are no locks (plain HTTP on a network), each tab listens for itself. After every reconnect everything is read again.
import type { QueryClient } from '@tanstack/react-query';
import { addressOf } from './client.ts';
import { refresh } from './query.ts';

export type StreamState = 'connecting' | 'live' | 'lost';

interface Hint {
  kind: string;
  id?: string;
}

type Message = { type: 'hint'; hint: Hint } | { type: 'state'; state: StreamState } | { type: 'resync' } | { type: 'who' };

const concerns: Readonly<Record<string, readonly string[]>> = {
  command: ['/commands', '/overview', '/attention', '/day-close', '/devices'],
  invoice: ['/invoices', '/overview', '/attention'],
  callback: ['/callbacks', '/overview', '/attention', '/commands/', '/invoices/'],
  device: ['/devices', '/overview'],
  attention: ['/attention', '/overview'],
  playground: ['/playground'],
};

const firstRetryMs = 1_000;
const longestRetryMs = 15_000;
/** Hints come in bursts (a sale is a dozen steps): each concern is read at most this often. */
const gatherMs = 400;
/** A tab that gets the lock at once has read everything just now. */
const takenOverAfterMs = 500;

export function listenForHints(client: QueryClient, onState: (state: StreamState) => void): () => void {
  const begunMs = performance.now();
  let isOver = false;
  let state: StreamState = 'connecting';
  let isLeader = false;
  let gathered = new Set<string>();
  let gathering: ReturnType<typeof setTimeout> | undefined;
  const channel = 'BroadcastChannel' in window ? new BroadcastChannel('tillgate-events') : undefined;
  const abort = new AbortController();

  const setState = (next: StreamState) => {
    state = next;
    onState(next);
  };
  const take = (message: Message) => {
    if (message.type === 'state') setState(message.state);
    else if (message.type === 'who') {
      if (isLeader) channel?.postMessage({ type: 'state', state } satisfies Message);
    } else if (message.type === 'resync') void client.invalidateQueries();
    else {
      for (const prefix of concerns[message.hint.kind] ?? []) gathered.add(prefix);
      gathering ??= setTimeout(() => {
        gathering = undefined;
        const prefixes = [...gathered];
        gathered = new Set();
        void refresh(client, prefixes);
      }, gatherMs);
    }
  };
  const tell = (message: Message) => {
    if (isOver) return;
    take(message);
    channel?.postMessage(message);
  };
  channel?.addEventListener('message', ({ data }: MessageEvent<Message>) => take(data));

  /** Resolves when listening is over. */
  function lead(): Promise<void> {
    isLeader = true;
    return new Promise((resolve) => {
      let source: EventSource | undefined;
      let retryMs = firstRetryMs;
      let retry: ReturnType<typeof setTimeout> | undefined;
      // Taken over from a tab that closed: hints sent in between were lost.
      let wasLive = performance.now() - begunMs > takenOverAfterMs;
      const open = () => {
        source = new EventSource(addressOf('/events'));
        source.addEventListener('open', () => {
          retryMs = firstRetryMs;
          tell({ type: 'state', state: 'live' });
          // Changes made while no tab was listening are found by reading again, also on another instance.
          if (wasLive) tell({ type: 'resync' });
          wasLive = true;
        });
        source.addEventListener('hint', ({ data }: MessageEvent<string>) => {
          const hint = parseHint(data);
          if (hint) tell({ type: 'hint', hint });
        });
        source.addEventListener('error', () => {
          source?.close();
          wasLive = true;
          tell({ type: 'state', state: 'lost' });
          retry = setTimeout(open, retryMs);
          retryMs = Math.min(retryMs * 2, longestRetryMs);
        });
      };
      open();
      abort.signal.addEventListener('abort', () => {
        clearTimeout(retry);
        source?.close();
        resolve();
      });
    });
  }

  if (channel && 'locks' in navigator) {
    channel.postMessage({ type: 'who' } satisfies Message);
    navigator.locks.request('tillgate-events', { signal: abort.signal }, lead).catch(() => {});
  } else void lead();

  return () => {
    if (isOver) return;
    isOver = true;
    clearTimeout(gathering);
    abort.abort();
    channel?.close();
  };
}

function parseHint(text: string): Hint | undefined {
  try {
    const hint = JSON.parse(text) as Hint;
    return typeof hint.kind === 'string' ? hint : undefined;
  } catch {
    return undefined;
  }
}
