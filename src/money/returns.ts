// Devices that are back are asked about what they left open, and about decisions of operators that they have not confirmed: those should be
// known before the same is sent again [D129]. After a broker's restart, thousands come back together: one statement at a time for many of
// them, so that payments do not queue.
import type { Logger } from '../kernel/logger.ts';
import type { Id } from './case.ts';
import type { Asked } from './recall.ts';

const maxAtOnce = 500;

interface Deps {
  logger: Logger;
  leftBy(devices: readonly Id[]): Promise<{ open: readonly Asked[]; withDecisions: readonly Id[] }>;
  askOpen(ops: readonly Asked[]): void;
  askAboutDecisions(deviceId: Id): Promise<void>;
}

export interface Returns {
  isBack(deviceId: Id): void;
  stop(): void;
}

export function createReturns({ logger, leftBy, askOpen, askAboutDecisions }: Deps): Returns {
  /** Bounded by the number of registered devices. */
  const returned = new Set<Id>();
  /** Devices that are being asked about decisions, and whether they have come back since. */
  const rounds = new Map<Id, boolean>();
  let isLooking = false;
  let isStopped = false;

  function take(): Id[] {
    const ids = isStopped ? [] : [...returned.values().take(maxAtOnce)];
    for (const id of ids) returned.delete(id);
    return ids;
  }

  async function look(): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    for (let ids = take(); ids.length > 0; ids = take()) {
      try {
        const { open, withDecisions } = await leftBy(ids);
        askOpen(open);
        for (const deviceId of withDecisions) {
          inRounds(deviceId).catch((error: unknown) =>
            logger.warn({ err: error, deviceId }, 'the query for unconfirmed decisions of a device failed'),
          );
        }
      } catch (error) {
        logger.warn({ err: error, devices: ids.length }, 'the query for open commands of reconnected devices failed');
      }
    }
    isLooking = false;
  }

  /** One round at a time per device, and one more for all its returns meanwhile: earlier questions may be lost. */
  async function inRounds(deviceId: Id): Promise<void> {
    const isUnderWay = rounds.has(deviceId);
    rounds.set(deviceId, isUnderWay);
    if (isUnderWay) return;
    try {
      do {
        rounds.set(deviceId, false);
        await askAboutDecisions(deviceId);
      } while (rounds.get(deviceId) === true);
    } finally {
      rounds.delete(deviceId);
    }
  }

  return {
    isBack(deviceId) {
      returned.add(deviceId);
      void look();
    },
    stop() {
      isStopped = true;
    },
  };
}
