// What a channel told its listener, kept in order, with a way to wait for the next thing.
import type { ChannelListener } from '../../src/link/channel.ts';
import type { AnswerMessage, PresenceMessage } from '../../src/link/wire-schemas.ts';

export type Told =
  | { what: 'answer'; deviceId: string; answer: AnswerMessage }
  | { what: 'presence'; deviceId: string; presence: PresenceMessage }
  | { what: 'gone'; deviceId: string }
  | { what: 'up' | 'down' }
  | { what: 'dropped'; reason: string };

export interface Recorder extends ChannelListener {
  readonly told: Told[];
  /** Resolves with the first thing told, from `since` on, that fits. */
  until(fits: (told: Told) => boolean, what: string, since?: number): Promise<Told>;
}

const patienceMs = 15_000;

export function createRecorder(): Recorder {
  const told: Told[] = [];
  const watchers = new Set<() => void>();
  const add = (event: Told) => {
    told.push(event);
    for (const watch of [...watchers]) watch();
  };
  return {
    told,
    offer: (_channel, _deviceId, message) => message.read(),
    answer: (_channel, deviceId, answer) => add({ what: 'answer', deviceId, answer }),
    presence: (_channel, deviceId, presence) => add({ what: 'presence', deviceId, presence }),
    gone: (_channel, deviceId) => add({ what: 'gone', deviceId }),
    up: () => add({ what: 'up' }),
    down: () => add({ what: 'down' }),
    dropped: (_channel, reason) => add({ what: 'dropped', reason }),
    until(fits, what, since = 0) {
      return new Promise((resolve, reject) => {
        const look = () => {
          const found = told.slice(since).find(fits);
          if (!found) return;
          clearTimeout(timer);
          watchers.delete(look);
          resolve(found);
        };
        const timer = setTimeout(() => {
          watchers.delete(look);
          reject(new Error(`Not told within ${patienceMs} ms: ${what}. Told: ${JSON.stringify(told.slice(since)).slice(0, 500)}`));
        }, patienceMs);
        watchers.add(look);
        look();
      });
    },
  };
}
