// The calls' side of the ledger by itself, with a link and commits that a test holds in its hand: what is noted while a command is carried,
// and what is answered when the database fails at the one moment that no whole shop meets.
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { databaseDown } from '../../src/database/errors.ts';
import type { GatewayError } from '../../src/kernel/error-codes.ts';
import type { CommandRequest } from '../../src/ledger/calls/call.ts';
import { CommandsInFlight } from '../../src/ledger/calls/in-flight.ts';
import { createRunOrJoin } from '../../src/ledger/calls/run-or-join.ts';
import type { Command } from '../../src/ledger/command.ts';
import { fixDeadlines } from '../../src/link/carrying/deadlines.ts';
import type { CarryResult } from '../../src/link/carrying/delivery.ts';
import type { Link } from '../../src/link/link.ts';
import { memoryDatabase } from '../support/engines.ts';
import { createFakeRecipient } from '../support/fake-recipient.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

type Carriage = Parameters<Link['carry']>[0];
type InFlightDeps = ConstructorParameters<typeof CommandsInFlight>[0];

const request = { deviceId: 'd', merchantId: 'm', name: 'Pay', answerWithinMs: 60_000 } as CommandRequest;
const command = (id: string, overrides: Partial<Command> = {}) =>
  ({ id, deviceId: 'd', name: 'Pay', args: {}, state: 'sent', journalId: 'j', reissuedAs: null, ...overrides }) as Command;
const ended = (outcome: 'expired' | 'done'): CarryResult => ({
  ...{ kind: 'ended', by: 'answer', outcome, report: undefined, reason: 'card 4111111111111111', journalId: 'j' },
  ...{ channel: 'mqtt', wasAccepted: false },
});

describe('a command that is in flight', () => {
  let clock: VirtualClock;
  let carried: PromiseWithResolvers<CarryResult>[];
  let readBack: string[];
  let applied: { id: string; outcome: string }[];
  let begin: (id: string) => Promise<Command | undefined>;
  let beginAgain: (reason: string | undefined, id: string) => Promise<Command | undefined>;
  let inFlight: CommandsInFlight;
  /** What the settlements do; by default they write it. */
  let write: () => Promise<void>;
  let keptTrying: (() => Promise<unknown>)[];
  let carriages: Carriage[];
  let said: unknown[][];

  beforeEach(() => {
    write = async () => {};
    keptTrying = [];
    carriages = [];
    said = [];
    clock = createVirtualClock(undefined, { settle: 'microtasks' });
    carried = [];
    readBack = [];
    applied = [];
    begin = async (id) => command(id);
    beginAgain = async () => undefined;
    const deps = {
      clock,
      random: seededRandom(1),
      logger: quietLogger,
      database: { wake: (...args: unknown[]) => said.push(['wake', ...args]) },
      timeline: {
        add: ({ commandId, step, atMs }: { commandId: string; step: string; atMs?: number }) => said.push([step, commandId, atMs]),
      },
      outcomeDelivery: { callerLeft: ({ id }: Command) => said.push(['left', id]) },
      link: {
        deadlines: (_deviceId: string, answerWithinMs: number) => fixDeadlines(clock, 0, answerWithinMs),
        carry: (carriage: Carriage) => {
          carriages.push(carriage);
          const next = Promise.withResolvers<CarryResult>();
          carried.push(next);
          return next.promise;
        },
      },
      settlements: {
        accepted: (id: string) => said.push(['accepted', id]),
        apply: async (settled: Command, { outcome }: { outcome: string }) => {
          await write();
          applied.push({ id: settled.id, outcome });
          return settled;
        },
        neverSent: async (settled: Command, reason: string) => {
          await write();
          applied.push({ id: settled.id, outcome: reason });
          return settled;
        },
        becomeUnknown: async (settled: Command, recallAfterMs: number) => {
          await write();
          applied.push({ id: settled.id, outcome: `unknown, Recall after ${recallAfterMs}` });
          return settled;
        },
      },
      firstCommits: {
        begin: (_request: unknown, id: string) => begin(id),
        beginAgain: (_expired: unknown, reason: string | undefined, _request: unknown, id: string) => beginAgain(reason, id),
      },
      lateCommits: { readBack: (id: string) => readBack.push(id), keepTrying: (commit: () => Promise<unknown>) => keptTrying.push(commit) },
    };
    inFlight = new CommandsInFlight(deps as unknown as InFlightDeps);
  });

  it('counts as in flight from before its commit to its end, and a stop waits for it', async () => {
    let id = '';
    begin = async (fresh) => {
      id = fresh;
      expect([inFlight.has(fresh), inFlight.count]).toEqual([true, 1]);
      return command(fresh);
    };
    const running = inFlight.run(request);
    await clock.advance(1);
    let isOver = false;
    const over = inFlight.ended().then(() => {
      isOver = true;
    });
    await clock.advance(1);
    expect([inFlight.has(id), isOver]).toEqual([true, false]);
    carried[0]?.resolve(ended('done'));
    expect((await running)?.id).toBe(id);
    await over;
    expect([inFlight.has(id), inFlight.count]).toEqual([false, 0]);
    await inFlight.ended();
  });

  it('reports that it was accepted and each of its steps as they arrive', async () => {
    const recipient = createFakeRecipient();
    const running = inFlight.run({ ...request, recipient });
    await clock.advance(1);
    const [carriage] = carriages;
    expect(carriage).toMatchObject({ deviceId: 'd', name: 'Pay', journalId: 'j' });
    carriage?.onAccepted();
    carriage?.onStep({ atMs: 7, step: 'sent', channel: 'mqtt' } as never);
    expect(said).toEqual([
      ['accepted', carriage?.id],
      ['sent', carriage?.id, 7],
    ]);
    recipient.leave();
    expect(said.at(-1)).toEqual(['left', carriage?.id]);
    carried[0]?.resolve(ended('done'));
    await running;
  });

  it('is not sent if its caller left while it was committed: it never began [D117]', async () => {
    const recipient = createFakeRecipient();
    begin = async (id) => {
      recipient.leave();
      return command(id);
    };
    const never = await inFlight.run({ ...request, recipient });
    expect(carriages).toEqual([]);
    expect(applied).toEqual([{ id: never?.id, outcome: 'The caller disconnected before the command was sent.' }]);
    expect(inFlight.count).toBe(0);
  });

  it('that is issued again belongs to its caller as before: a caller that left during the commit has left the new issue', async () => {
    const recipient = createFakeRecipient();
    let first = '';
    begin = async (id) => command((first = id));
    beginAgain = async (_reason, id) => {
      recipient.leave();
      return command(id);
    };
    const running = inFlight.run({ ...request, recipient });
    await clock.advance(1);
    carried[0]?.resolve(ended('expired'));
    await clock.advance(1);
    const again = carriages[1]?.id;
    carried[1]?.resolve(ended('done'));
    await running;
    expect(again).not.toBe(first);
    expect(said.filter(([what]) => what === 'left')).toEqual([
      ['left', first],
      ['left', again],
    ]);
  });

  it('leaves nothing behind when it has ended', async () => {
    const running = inFlight.run(request);
    await clock.advance(1);
    carried[0]?.resolve(ended('done'));
    await running;
    const waitedFor = vi.spyOn(Promise, 'allSettled');
    onTestFinished(() => waitedFor.mockRestore());
    await inFlight.ended();
    expect(waitedFor.mock.calls).toEqual([[new Set()]]);
  });

  const notSent: CarryResult = { kind: 'not-sent', reason: 'It was too late.' };

  it.each<[CarryResult, string]>([
    [ended('done'), 'done'],
    [notSent, 'It was too late.'],
    [{ kind: 'silent' } as CarryResult, 'unknown, Recall after 0'],
  ])('ends as the link found it: %j', async (result, outcome) => {
    const running = inFlight.run(request);
    await clock.advance(1);
    carried[0]?.resolve(result);
    expect(applied).toEqual([]);
    expect(await running).toMatchObject({ state: 'sent' });
    expect(applied).toMatchObject([{ outcome }]);
  });

  describe('while the database is down', () => {
    beforeEach(() => {
      write = () => Promise.reject(databaseDown('away'));
    });

    async function carryAs(...results: CarryResult[]): Promise<Command | undefined> {
      const running = inFlight.run(request);
      running.catch(() => {});
      for (const [place, result] of results.entries()) {
        await clock.advance(1);
        carried[place]?.resolve(result);
      }
      return running;
    }

    it('and may have been published is returned as open, and its known outcome is retried until it is written', async () => {
      expect(await carryAs(ended('done'))).toMatchObject({ state: 'sent' });
      expect(inFlight.count).toBe(0);
      write = async () => {};
      await keptTrying[0]?.();
      expect([keptTrying.length, applied]).toMatchObject([1, [{ outcome: 'done' }]]);
    });

    it('and was not sent fails with the error of the database, since nothing was done', async () => {
      await expect(carryAs(notSent)).rejects.toThrow('away');
      expect([keptTrying.length, inFlight.count]).toEqual([1, 0]);
    });

    it('and was not sent the second time is returned as open: the first copy may be read elsewhere', async () => {
      beginAgain = async (_reason, id) => command(id);
      const told = await carryAs(ended('expired'), notSent);
      expect(told).toMatchObject({ state: 'sent' });
      expect([keptTrying.length, inFlight.count]).toEqual([1, 0]);
    });

    it('or by a bug in the link is returned as open, because it is unknown whether it was sent', async () => {
      const running = inFlight.run(request);
      await clock.advance(1);
      carried[0]?.reject(new TypeError('a mistake'));
      expect(await running).toMatchObject({ state: 'sent' });
      expect([keptTrying, applied, inFlight.count]).toEqual([[], [], 0]);
    });
  });

  it.each<[string, () => Promise<undefined>, number]>([
    ['lost its race', async () => undefined, 0],
    ['could not be committed for a reason of its own', () => Promise.reject(new Error('a guard')), 0],
    ['may or may not be committed', () => Promise.reject(databaseDown('away')), 1],
  ])('is none when it %s; only what may be there is read back', async (_what, commit, times) => {
    begin = commit;
    await inFlight.run(request).catch(() => {});
    expect(inFlight.count).toBe(0);
    expect(carried).toEqual([]);
    expect(readBack).toHaveLength(times);
  });

  describe('and expired', () => {
    async function expire(afterMs = 0, overrides: object = {}): Promise<Command | undefined> {
      const running = inFlight.run(request);
      await clock.advance(1 + afterMs);
      carried[0]?.resolve({ ...ended('expired'), ...overrides });
      await clock.advance(1);
      carried[1]?.resolve(ended('done'));
      return running;
    }

    it('is sent once more, with the reason masked, and that one tells the end', async () => {
      let reason: string | undefined;
      beginAgain = async (why, id) => {
        reason = why;
        expect(inFlight.count).toBe(2);
        return command(id);
      };
      const told = await expire();
      expect(applied).toEqual([{ id: told?.id, outcome: 'done' }]);
      expect(reason).toMatch(/^card [*•x\d]*\*/);
      expect(inFlight.count).toBe(0);
    });

    it.each<[string, () => Promise<undefined>, number]>([
      ['is settled as it is when another one was faster', async () => undefined, 0],
      ['is settled as it is when the second cannot be written for a reason of its own', () => Promise.reject(new Error('a guard')), 0],
      ['is settled as it is, and the second is read back if it may be there', () => Promise.reject(databaseDown('away')), 1],
    ])('%s', async (_what, commit, times) => {
      let second = '';
      beginAgain = (_reason, id) => {
        second = id;
        return commit();
      };
      const told = await expire();
      expect(applied).toEqual([{ id: told?.id, outcome: 'expired' }]);
      expect(readBack).toEqual(times === 1 ? [second] : []);
      expect([inFlight.has(second), inFlight.count]).toEqual([false, 0]);
    });

    it('is sent once more without a reason, too, and wakes the callers that wait for the first', async () => {
      let reason: string | undefined = 'not asked';
      beginAgain = async (why, id) => {
        reason = why;
        return command(id);
      };
      const told = await expire(0, { reason: undefined });
      const [first] = carriages;
      expect([reason, told?.id]).toEqual([undefined, carriages[1]?.id]);
      expect(said).toEqual([
        ['settled', first?.id, undefined],
        ['issued again', told?.id, undefined],
        ['wake', 'commands', first?.id],
      ]);
    });

    it.each([{ wasAccepted: true }, { journalId: 'another' }])(
      'does not go out any more when that is not believed: %j',
      async (overrides) => {
        let wasAsked = false;
        beginAgain = async () => {
          wasAsked = true;
          return undefined;
        };
        await expire(0, overrides);
        expect(applied).toMatchObject([{ outcome: 'expired' }]);
        expect([carried.length, wasAsked]).toEqual([1, false]);
      },
    );

    it('is no longer sent after ten seconds', async () => {
      let wasAsked = false;
      beginAgain = async () => {
        wasAsked = true;
        return undefined;
      };
      await expire(10_000);
      expect(applied).toMatchObject([{ outcome: 'expired' }]);
      expect([carried.length, wasAsked]).toEqual([1, false]);
    });
  });
});

describe('a repeat of what was sent once more', () => {
  type Deps = Parameters<typeof createRunOrJoin>[0];
  const first = command('first');

  async function joinWhile(reading: () => Promise<never>): Promise<unknown> {
    const { queries } = await memoryDatabase(createVirtualClock());
    const failing = queries.withPlugin({ transformQuery: ({ node }) => node, transformResult: reading });
    const deps = {
      database: { queries: failing },
      link: { presence: { journalOf: () => undefined } },
      clock: createVirtualClock(),
      logger: quietLogger,
      timeline: { addCounted: () => {} },
      repeats: { find: async () => ({ command: first, by: 'number' }) },
      keyedCalls: { keepKey: async () => {}, dropKeyOfNever: () => Promise.reject(new Error('it is not known to be never')) },
      inFlight: { has: () => false },
      outcomeWaits: { countOf: () => 0, waitFor: async () => ({ ...first, state: 'never', reissuedAs: 'second' }) },
    };
    const { run } = createRunOrJoin(deps as unknown as Deps);
    return run({ merchantId: 'm', deviceId: 'd' }, () => Promise.reject(new Error('nothing is planned')));
  }

  it('that cannot be read is returned as open, because the end of the first says nothing about the second', async () => {
    const joined = joinWhile(() => Promise.reject(databaseDown('away') satisfies GatewayError));
    expect(await joined).toEqual({ command: first, isEarlier: true, isRepeated: false });
  });

  it('hides no bug of the gateway', async () => {
    await expect(joinWhile(() => Promise.reject(new TypeError('a mistake')))).rejects.toThrow('a mistake');
  });
});
