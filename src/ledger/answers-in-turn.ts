// Late answers of one device, a few at a time: a device has one open command, so one that sends more answers at once is broken and must not
// load the database.
import type { Clock } from '../kernel/clock.ts';
import { createGate, type Gate } from '../kernel/gate.ts';
import type { Logger } from '../kernel/logger.ts';
import { restrainLogger } from '../kernel/restrained-logger.ts';
import type { AnswerMessage } from '../link/wire-schemas.ts';
import { numbersOf } from './unmatched.ts';

const maxAtOnce = 20;
/** After a restore every one of them may be about money: as many as a device may send at once wait their turn. */
const maxWaiting = 100;

/** While too many answers of this device wait, a further one is only logged, with its numbers. */
export type InTurn = (deviceId: string, answer: AnswerMessage, look: () => Promise<void>) => Promise<void>;

export function createAnswersInTurn({ clock, logger }: { clock: Clock; logger: Logger }): InTurn {
  const restrained = restrainLogger(logger, clock);
  const underWay = new Map<string, { gate: Gate; count: number }>();
  return async (deviceId, { id, outcome, report }, look) => {
    const ofDevice = underWay.get(deviceId) ?? { gate: createGate(maxAtOnce), count: 0 };
    if (ofDevice.count >= maxAtOnce + maxWaiting) {
      const facts = { deviceId, commandId: id, outcome, ...numbersOf(report) };
      return restrained.error(facts, 'a device sent too many answers at once; one was not looked at');
    }
    ofDevice.count += 1;
    underWay.set(deviceId, ofDevice);
    try {
      await ofDevice.gate.run(look);
    } finally {
      ofDevice.count -= 1;
      if (ofDevice.count === 0) underWay.delete(deviceId);
    }
  };
}
