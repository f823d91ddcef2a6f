// Ends the connections of a device at RabbitMQ, over its management API, when the device is disabled or gets a new secret [D105].
// RabbitMQ checks every login with a gateway [D200], but another instance may accept the old secret for a few seconds. So the connections
// are ended at once and again after that time. Failures are retried for a few minutes; a new change of the device restarts this.
// Invariants: at most `maxWaiting` devices wait, one request runs at a time, and callers never wait for it.
import type { Cancel, Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';

export type RabbitmqConnections = ReturnType<typeof createRabbitmqConnections>;

export interface RabbitmqConnectionsOptions {
  /** http://user:password@host:15672, a user with the tag administrator. */
  apiUrl: string;
  clock: Clock;
  logger: Logger;
  maxWaiting?: number;
}

/** Longer than the 5 s for which an instance that missed the change may accept the old secret [D38]. */
const cutAgainMs = 7_000;
const tryAgainMs = 5_000;
const giveUpAfterMs = 300_000;
const answerWithinMs = 5_000;
const defaultMaxWaiting = 10_000;
/** The id of no device: ids of devices are random. */
const noDevice = '00000000-0000-0000-0000-000000000000';

interface Cut {
  since: number;
  cancelWait: Cancel;
}

function requestOf(apiUrl: string): { base: string; authorization: string } {
  const url = new URL(apiUrl);
  const login = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return { base: `${url.origin}${url.pathname.replace(/\/$/, '')}/api`, authorization: `Basic ${Buffer.from(login).toString('base64')}` };
}

export interface RabbitmqNode {
  name: string;
  filesUsed: number;
  filesAtMost: number;
}

export async function readNodes(apiUrl: string, signal: AbortSignal): Promise<RabbitmqNode[]> {
  const { base, authorization } = requestOf(apiUrl);
  const response = await fetch(`${base}/nodes`, { headers: { authorization }, signal });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  const nodes = (await response.json()) as { name?: unknown; fd_used?: unknown; fd_total?: unknown }[];
  // A node that has just started has no statistics yet.
  if (!nodes.every(({ fd_total: total }) => typeof total === 'number'))
    throw new Error('its statistics are not available yet; retry in some seconds');
  return nodes.map((node) => ({ name: String(node.name), filesUsed: Number(node.fd_used), filesAtMost: Number(node.fd_total) }));
}

/** Returns the HTTP status. For a device without connections it is 404 or 204, depending on the version. */
export async function endConnections(apiUrl: string, deviceId: string, signal: AbortSignal): Promise<number> {
  const { base, authorization } = requestOf(apiUrl);
  const headers = { authorization, 'x-reason': 'cut off by Tillgate' };
  const response = await fetch(`${base}/connections/username/${encodeURIComponent(deviceId)}`, { method: 'DELETE', headers, signal });
  await response.body?.cancel();
  return response.status;
}

export const isEnded = (status: number): boolean => (status >= 200 && status <= 299) || status === 404;

export function createRabbitmqConnections(options: RabbitmqConnectionsOptions) {
  const { clock, logger, maxWaiting = defaultMaxWaiting } = options;
  const cuts = new Map<string, Cut>();
  /** Due devices, first in, first out. */
  const line = new Map<string, Cut>();
  let isRunning = false;
  let isStopped = false;

  async function endNow(deviceId: string): Promise<boolean> {
    const abort = new AbortController();
    const cancel = clock.after(answerWithinMs, () => abort.abort());
    try {
      const status = await endConnections(options.apiUrl, deviceId, abort.signal);
      if (isEnded(status)) return true;
      logger.warn({ deviceId, httpStatus: status }, "RabbitMQ's management API does not end a device's connections");
    } catch (error) {
      logger.warn({ deviceId, err: error }, "RabbitMQ's management API cannot be reached to end a device's connections");
    } finally {
      cancel();
    }
    return false;
  }

  async function run(): Promise<void> {
    if (isRunning) return;
    isRunning = true;
    for (const [deviceId, cut] of line) {
      line.delete(deviceId);
      const startedAt = clock.elapsed();
      const isDone = await endNow(deviceId);
      // If the device was cut off again during the request, the newer cut counts.
      if (cuts.get(deviceId) === cut) plan(deviceId, cut, isDone, startedAt);
    }
    isRunning = false;
  }

  function plan(deviceId: string, cut: Cut, isDone: boolean, startedAt: number): void {
    const goneMs = clock.elapsed() - cut.since;
    const isOver = isDone && startedAt - cut.since >= cutAgainMs;
    const isHopeless = !isDone && goneMs > giveUpAfterMs;
    if (isHopeless) logger.error({ deviceId }, 'the connections of a device that was cut off could not be ended at RabbitMQ');
    if (isOver || isHopeless) {
      cuts.delete(deviceId);
      return;
    }
    cut.cancelWait = clock.after(isDone ? cutAgainMs : tryAgainMs, () => enqueue(deviceId, cut));
  }

  function enqueue(deviceId: string, cut: Cut): void {
    line.set(deviceId, cut);
    void run();
  }

  return {
    /** Checks that connections can be ended, with a device that does not exist. Rejects with the error of the management API. */
    async check(): Promise<void> {
      const abort = new AbortController();
      const cancel = clock.after(answerWithinMs, () => abort.abort(new Error('no answer in time')));
      try {
        const status = await endConnections(options.apiUrl, noDevice, abort.signal);
        if (!isEnded(status)) throw new Error(`HTTP ${status}${status === 401 ? ': wrong user or password' : ''}`);
      } finally {
        cancel();
      }
    },
    end(deviceId: string): void {
      if (isStopped) return;
      if (cuts.size >= maxWaiting && !cuts.has(deviceId)) {
        logger.error({ deviceId }, 'too many devices wait to be cut off at RabbitMQ; the connections of this one stay open');
        return;
      }
      cuts.get(deviceId)?.cancelWait();
      const cut: Cut = { since: clock.elapsed(), cancelWait: () => {} };
      cuts.set(deviceId, cut);
      enqueue(deviceId, cut);
    },
    stop(): void {
      isStopped = true;
      for (const { cancelWait } of cuts.values()) cancelWait();
      cuts.clear();
      line.clear();
    },
  };
}
