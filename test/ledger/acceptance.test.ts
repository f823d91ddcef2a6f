// A device that has accepted a command cannot say later that it never began: the command's row keeps it, whichever gateway received it and whatever got lost.
import { beforeEach, describe, expect, it } from 'vitest';
import { databaseDown } from '../../src/database/errors.ts';
import { createStateChanges } from '../../src/ledger/settling/state-change.ts';
import type { Timeline } from '../../src/ledger/timeline.ts';
import type { EndingOutcome } from '../../src/link/protocol.ts';
import type { AnswerMessage } from '../../src/link/wire-schemas.ts';
import { isNewCore } from '../support/core.ts';
import { createSaleWorld, type SaleWorld } from '../support/sale-world.ts';

let world: SaleWorld;
let terminal: Awaited<ReturnType<SaleWorld['terminal']>>;

beforeEach(async () => {
  world = await createSaleWorld();
  terminal = await world.terminal();
});

const isRecalled = (answer: AnswerMessage) => answer.report?.['state'] !== undefined;
const recallsAs = (state: string) => (answer: AnswerMessage) =>
  isRecalled(answer) ? { ...answer, report: { state } } : answer.outcome === 'accepted' ? answer : undefined;
const forReview = { state: 'unknown', reviewReason: expect.stringContaining('had accepted') };

function word(id: string, outcome: AnswerMessage['outcome']): AnswerMessage {
  const journalId = terminal.journal().journalId as string;
  return { v: 1, id, device: terminal.id, clock: new Date(world.clock.now()).toISOString(), journalId, outcome };
}

/** The timeline cannot be written: nothing may depend on it. */
function loseTimeline(): void {
  world.hook = ({ sql }) => {
    if (sql.startsWith('insert into "command_events"')) throw databaseDown('The timeline is lost.');
    return undefined;
  };
}

describe('accepted', () => {
  it('is stored in the row, and a "never" after a restart is not accepted even if the timeline is lost', async () => {
    loseTimeline();
    void world.pay(terminal.id, 10.64);
    await world.clock.advance(2_000);
    await world.crash();
    world.onAnswer = recallsAs('never');
    await world.restart();
    await world.clock.advance(30_000);
    expect(await world.lastCommand()).toMatchObject({ ...forReview, acceptedAtMs: expect.any(Number) });
    world.onAnswer = (answer) => answer;
    await world.clock.advance(10 * 60_000);
    expect(await world.lastCommand()).toMatchObject({ state: 'done' });
  });

  it('costs a quick command no statement of its own: it is written with the settlement', async () => {
    const statements: string[] = [];
    world.hook = ({ sql, when }) => {
      if (when === 'before' && sql.includes('"accepted_at" =')) statements.push(sql);
      return undefined;
    };
    expect((await world.run(world.pay((await world.terminal({ timing: { customerMs: 1, bankMs: 1 } })).id, 10))).code).toBe(0);
    await world.clock.advance(1_000);
    expect((await world.lastCommand()).acceptedAtMs).not.toBeNull();
    expect(statements).toHaveLength(1);
    expect(statements[0]).toContain('"state" =');
  });

  it('that comes late, after its call was answered 3, counts too', async () => {
    loseTimeline();
    world.weather = { ...world.weather, lossRate: 1 };
    expect((await world.run(world.pay(terminal.id, 10))).code).toBe(3);
    world.weather = { ...world.weather, lossRate: 0 };
    const { id, acceptedAtMs } = await world.lastCommand();
    expect(acceptedAtMs).toBeNull();
    world.onAnswer = recallsAs('never');
    world.sayAs(terminal.id, word(id, 'accepted'));
    await world.clock.advance(60_000);
    expect(await world.ledger.find(id)).toMatchObject(forReview);
  });

  it('of another device counts for nothing', async () => {
    world.weather = { ...world.weather, lossRate: 1 };
    expect((await world.run(world.pay(terminal.id, 10))).code).toBe(3);
    world.weather = { ...world.weather, lossRate: 0 };
    const { id } = await world.lastCommand();
    const other = await world.terminal();
    world.sayAs(other.id, { ...word(id, 'accepted'), device: other.id });
    await world.clock.advance(100);
    expect((await world.ledger.find(id))?.acceptedAtMs).toBeNull();
  });

  it('is also the meaning of a Recall that reports running, within the call and after it', async () => {
    loseTimeline();
    void world.pay(terminal.id, 10.64);
    world.onAnswer = (answer) => (answer.outcome === 'accepted' ? undefined : answer);
    await world.clock.advance(100);
    await world.crash();
    await world.restart();
    world.onAnswer = recallsAs('running');
    await world.clock.advance(30_000);
    expect((await world.lastCommand()).acceptedAtMs).not.toBeNull();
    world.onAnswer = recallsAs('never');
    await world.clock.advance(10 * 60_000);
    expect(await world.lastCommand()).toMatchObject(forReview);
  });

  // The new core has no write of its own to wait for: what is gathered is read beside the answer, which is for review at once.
  it.skipIf(isNewCore)('that cannot be written prevents that a "never" is accepted, until it is written', async () => {
    let isDown = false;
    world.hook = ({ sql, when }) => {
      if (isDown && when === 'before' && sql.startsWith('update "commands" set "accepted_at"')) throw databaseDown('Not now.');
      return undefined;
    };
    world.weather = { ...world.weather, lossRate: 1 };
    expect((await world.run(world.pay(terminal.id, 10))).code).toBe(3);
    world.weather = { ...world.weather, lossRate: 0 };
    const { id } = await world.lastCommand();
    isDown = true;
    world.onAnswer = recallsAs('never');
    world.sayAs(terminal.id, word(id, 'accepted'));
    await world.clock.advance(60_000);
    expect(await world.ledger.find(id)).toMatchObject({ state: 'unknown', acceptedAtMs: null, reviewReason: null });
    isDown = false;
    await world.clock.advance(6 * 60_000);
    expect(await world.ledger.find(id)).toMatchObject(forReview);
  });

  it.each<EndingOutcome>(['never', 'busy', 'expired'])(
    'received at the very moment in which %s is settled is seen by the settling statement',
    async (outcome) => {
      world.weather = { ...world.weather, lossRate: 1 };
      expect((await world.run(world.pay(terminal.id, 10))).code).toBe(3);
      world.weather = { ...world.weather, lossRate: 0 };
      const { id } = await world.lastCommand();
      const { queries } = world.database;
      let heard: Promise<unknown> | undefined;
      world.hook = ({ sql, when }) => {
        // The row has been looked at, and the other instance writes before the update that settles.
        if (!heard && when === 'after' && sql.startsWith('select') && sql.includes('"accepted_at"') && sql.includes('"id" = ?')) {
          looks += 1;
          if (looks === (isNewCore ? 1 : 2))
            heard = queries.updateTable('commands').set({ accepted_at: world.clock.now() }).where('id', '=', id).execute();
        }
        return undefined;
      };
      let looks = 0;
      world.onAnswer = (answer) => (isRecalled(answer) ? undefined : answer);
      world.sayAs(terminal.id, word(id, outcome));
      await world.clock.advance(1_000);
      await heard;
      expect(heard).toBeDefined();
      expect(await world.ledger.find(id)).toMatchObject(forReview);
    },
  );

  it('while a "never" is being written is not lost, unless the written outcome includes it', async () => {
    await world.run(world.pay(terminal.id, 10));
    const command = await world.lastCommand();
    const forgotten: string[] = [];
    const changeState = createStateChanges({
      database: world.database,
      timeline: { add() {} } as unknown as Timeline,
      kinds: {},
      onSettled: (id) => forgotten.push(id),
    });
    for (const state of ['never', 'done'] as const) {
      await changeState({ command, to: state, update: async () => ({ ...command, state }) });
      expect(forgotten).toEqual(state === 'never' ? [] : [command.id]);
    }
  });

  it('after the command was settled as never is a contradiction for the review list', async () => {
    world.weather = { ...world.weather, lossRate: 1 };
    expect((await world.run(world.pay(terminal.id, 10))).code).toBe(3);
    world.weather = { ...world.weather, lossRate: 0 };
    await world.clock.advance(60_000);
    const { id } = await world.lastCommand();
    expect(await world.ledger.find(id)).toMatchObject({ state: 'never', reviewSinceMs: null });
    world.sayAs(terminal.id, word(id, 'accepted'));
    world.sayAs(terminal.id, word(id, 'accepted'));
    await world.clock.advance(1_000);
    expect(world.ledger.stats().contradictions).toBe(1);
    expect((await world.ledger.listReview(10)).map((command) => command.id)).toEqual([id]);
    await world.ledger.decide(id, { state: 'refused', reason: 'Nothing in the bank.', actor: 'ana', closesReview: true });
    expect(await world.ledger.listReview(10)).toEqual([]);
  });
});
