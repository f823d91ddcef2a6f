// Work that the database ended for another's sake goes again, a bounded number of times, and nothing else does.
import { describe, expect, it } from 'vitest';
import { DatabaseBusy, isCertainlyUndone, LostToAnother } from '../../src/database/errors.ts';
import { untilNotLost } from '../../src/database/until-not-lost.ts';

describe('work that was lost to another transaction', () => {
  const lost = () => new LostToAnother('deadlock detected', undefined);
  const failing = (errors: readonly Error[]) => {
    let at = 0;
    return async () => {
      const error = errors[at];
      at += 1;
      if (error) throw error;
      return at;
    };
  };

  it('is retried until it succeeds, and reports each retry', async () => {
    const told: number[] = [];
    expect(await untilNotLost(failing([lost(), lost()]), { onLost: (attempt) => told.push(attempt) })).toBe(3);
    expect(told).toEqual([1, 2]);
  });

  it('is tried five times, or as often as given, and then fails as busy: nothing was done', async () => {
    const errors = Array.from({ length: 5 }, lost);
    expect(await untilNotLost(failing(errors.slice(1)))).toBe(5);
    const busy = await untilNotLost(failing(errors)).catch((error: unknown) => error);
    expect(busy).toBeInstanceOf(DatabaseBusy);
    expect([(busy as Error).cause, isCertainlyUndone(busy)]).toEqual([errors[4], true]);
    await expect(untilNotLost(failing([lost(), lost()]), { tries: 2 })).rejects.toBeInstanceOf(DatabaseBusy);
  });

  it('is not retried after any other error', async () => {
    const other = new Error('something else');
    await expect(untilNotLost(failing([lost(), other]))).rejects.toBe(other);
  });
});
