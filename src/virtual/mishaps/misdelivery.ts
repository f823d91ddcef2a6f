// Answers that go astray on purpose: the device believes that it answered, and the wire carries none, or two.
import type { AnswerMessage } from '../../link/wire-schemas.ts';

export interface Misdelivery {
  /** The next ending answer of this command is lost. */
  lose(commandId: string): void;
  /** The next ending answer of this command goes out twice. */
  double(commandId: string): void;
  /** How many copies of this answer the wire gets. */
  copiesOf(answer: AnswerMessage): number;
}

export function createMisdelivery(): Misdelivery {
  const copies = new Map<string, number>();
  return {
    lose: (commandId) => copies.set(commandId, 0),
    double: (commandId) => copies.set(commandId, 2),
    copiesOf(answer) {
      if (answer.outcome === 'accepted') return 1;
      const count = copies.get(answer.id) ?? 1;
      copies.delete(answer.id);
      return count;
    },
  };
}
