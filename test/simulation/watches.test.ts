// Those who watch while the day runs notice a broken promise in the moment in which it is broken, and nothing else.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createAnswerWatch } from '../../simulation/answer-watch.ts';
import { tellWhatIsOpen } from '../../simulation/books/settled.ts';
import { createCallbackReceiver } from '../../simulation/callback-receiver.ts';
import { createEventClock } from '../../simulation/event-clock.ts';
import { drawPlan } from '../../simulation/plan.ts';
import type { Shop } from '../../simulation/shop.ts';
import type { ShopDevice } from '../../simulation/shop-devices.ts';
import { createStandstill } from '../../simulation/standstill.ts';
import type { Passing } from '../../simulation/wire.ts';
import { watchWire } from '../../simulation/wire-watch.ts';
import type { CommandMessage } from '../../src/link/wire-schemas.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { sellTruly, type TrueDay } from './true-day.ts';

let violations: string[];
const violated = (sentence: string) => void violations.push(sentence);
beforeEach(() => {
  violations = [];
});

describe('who watches answers', () => {
  const answer = { v: 1, id: 'one', device: 'terminal', clock: '', outcome: 'done' } as const;
  const ledger = (state: string) => ({ peek: () => (state === 'done' ? [] : [{ name: 'Pay', state }]) });

  it.each([
    { state: 'unknown', told: ['Pay one was answered done to gateway 2, and a moment later it is unknown'] },
    { state: 'done', told: [] },
  ])('looks a moment later, and finds it $state', async ({ state, told }) => {
    const clock = createEventClock();
    createAnswerWatch({ clock, storage: ledger(state), violated }).received(2, answer);
    await clock.advance(5_000);
    expect(violations).toEqual(told);
  });

  it.each([
    { when: 'shortly before', disturbAtMs: -5_000 },
    { when: 'in between', disturbAtMs: 500 },
  ])('holds no answer to the moment when a fault hit a gateway $when', async ({ disturbAtMs }) => {
    const clock = createEventClock();
    const watch = createAnswerWatch({ clock, storage: ledger('unknown'), violated });
    clock.after(10_000 + disturbAtMs, watch.disturbed);
    clock.after(10_000, () => watch.received(2, answer));
    await clock.advance(20_000);
    expect(violations).toEqual([]);
  });

  it.each([
    { lastsMs: 20_000, told: 0 },
    { lastsMs: 1_000, told: 1 },
  ])('holds no answer to the moment while the database is down, for $lastsMs ms', async ({ lastsMs, told }) => {
    const clock = createEventClock();
    const watch = createAnswerWatch({ clock, storage: ledger('sent'), violated });
    watch.disturbed(lastsMs);
    clock.after(15_000, () => watch.received(2, answer));
    await clock.advance(30_000);
    expect(violations).toHaveLength(told);
  });

  it('waits for a yes or a no: `accepted` and `never` end nothing by themselves', async () => {
    const clock = createEventClock();
    const watch = createAnswerWatch({ clock, storage: ledger('unknown'), violated });
    for (const outcome of ['accepted', 'never', 'unknown'] as const) watch.received(2, { ...answer, outcome });
    await clock.advance(5_000);
    expect(violations).toEqual([]);
  });
});

describe('who watches the wires', () => {
  const command = (change: Partial<CommandMessage> = {}): Passing => ({
    kind: 'command',
    channel: 'mqtt',
    deviceId: 'd',
    message: { v: 1, id: 'one', name: 'Pay', replyTo: 'g', startBy: '1', answerBy: '2', args: {}, ...change } as CommandMessage,
  });

  function watching({
    hasJournal = true,
    running = [] as object[],
    charges = [] as object[],
    ageMs = 0,
    closedByHand = [] as string[],
    said = undefined as string | undefined,
    guessed = undefined as string | undefined,
    calledDone = undefined as string | undefined,
    calledEnded = undefined as string | undefined,
    disputed = undefined as string | undefined,
    clockSkewMs = 0,
    clockSetAtMs = Number.NEGATIVE_INFINITY,
  } = {}) {
    const clock = createEventClock();
    const storage = {
      peek(sql: string, [subject]: readonly unknown[]) {
        if (sql.includes('audit_log')) return closedByHand.filter((id) => id === subject).map((id) => ({ id }));
        if (sql.includes('disputed_from')) return subject === disputed ? [{ 1: 1 }] : [];
        return [{ issued_at: clock.now() - ageMs, answer_by: clock.now() + 60_000 }];
      },
    };
    const journal = () => ({ unfinished: () => running, find: () => ({ outcome: said }) });
    const device = { journal, faults: () => ({ clockSkewMs }), bank: { charges: () => charges, entries: () => [] } };
    const target = { id: 'd', name: 'terminal 1', hasJournal, device, lastCommandAtMs: 0, clockSetAtMs } as unknown as ShopDevice;
    const operator = {
      hasGuessed: (id: string) => id === guessed,
      wasCalledDone: (id: string) => id === calledDone,
      wasFollowerCalledDone: (id: string) => id === calledEnded,
    };
    return watchWire({ clock, storage, devices: [target], trace: () => {}, violated, ...operator });
  }

  it('lets copies pass that are the same', () => {
    const watch = watching();
    watch(command());
    watch(command());
    expect(violations).toEqual([]);
  });

  it('tells of a command to a device that is busy with another', () => {
    watching({ running: [{ id: 'other', name: 'Refund' }] })(command());
    expect(violations).toEqual(['Pay one went to terminal 1, which is busy with Refund other']);
  });

  it('lets a copy pass of which its device has said "never" since: it has that in its journal', () => {
    const busy = { running: [{ id: 'other', name: 'Refund' }], said: 'never' };
    watching(busy)(command());
    expect(violations).toEqual([]);
    watching({ ...busy, hasJournal: false })(command());
    watching({ ...busy, said: 'done' })(command());
    expect(violations).toHaveLength(2);
  });

  it('tells of a Pay while another waits for its CloseDoc [D14]', () => {
    watching({ charges: [{ entry: { reference: 'other', operationId: '7' }, isVoided: false }] })(command());
    expect(violations).toEqual(['Pay one went to terminal 1, where Pay other awaits its CloseDoc']);
  });

  it('tells of none whose document an operator closed by hand [D16]', () => {
    const charges = [{ entry: { reference: 'other', operationId: '7' }, isVoided: false }];
    watching({ charges, closedByHand: ['other'] })(command());
    expect(violations).toEqual([]);
    watching({ charges, closedByHand: ['another'] })(command());
    expect(violations).toHaveLength(1);
  });

  it('tells of none that a person has called refused without knowing [D129]', () => {
    const charges = [{ entry: { reference: 'other', operationId: '7' }, isVoided: false }];
    watching({ charges, guessed: 'other' })(command());
    expect(violations).toEqual([]);
    watching({ charges, guessed: 'another' })(command());
    expect(violations).toHaveLength(1);
  });

  it('tells of none whose CloseDoc or void a person has called done without knowing [D143]', () => {
    const charges = [{ entry: { reference: 'other', operationId: '7' }, isVoided: false }];
    watching({ charges, calledEnded: 'other' })(command());
    watching({ charges, calledDone: 'other' })(command());
    expect(violations).toEqual([]);
    watching({ charges, calledEnded: 'another' })(command());
    expect(violations).toHaveLength(1);
  });

  it('tells of none that is or was disputed: it locks no terminal [D143]', () => {
    const charges = [{ entry: { reference: 'other', operationId: '7' }, isVoided: false }];
    watching({ charges, disputed: 'other' })(command());
    expect(violations).toEqual([]);
    watching({ charges, disputed: 'another' })(command());
    expect(violations).toHaveLength(1);
  });

  it('tells of a command that leaves after its time to begin, and lets one pass that is in time [D65]', () => {
    watching({ ageMs: 10_000 })(command());
    expect(violations).toEqual([]);
    watching({ ageMs: 10_001 })(command());
    expect(violations).toEqual(['Pay one went to terminal 1 10001 ms after it was issued']);
  });

  it('tells of a command whose device may answer when a person may have decided, in the device’s own clock [D63]', () => {
    const nowMs = createEventClock().now();
    const answerBy = (ms: number) => command({ answerBy: new Date(nowMs + 60_000 + ms).toISOString() });
    watching()(answerBy(120_000));
    watching({ clockSkewMs: 600_000 })(answerBy(720_000));
    watching({ clockSetAtMs: 1 })(answerBy(600_000));
    expect(violations).toEqual([]);
    watching()(answerBy(120_001));
    watching({ clockSkewMs: -600_000 })(answerBy(0));
    expect(violations).toEqual([
      'Pay one lets terminal 1 answer 120001 ms later than its row says',
      'Pay one lets terminal 1 answer 600000 ms later than its row says',
    ]);
  });

  it('tells of a copy with a fresh time to begin [D65]', () => {
    const watch = watching();
    watch(command());
    watch(command({ startBy: '3' }));
    expect(violations).toEqual(['Pay one went to terminal 1 for 1 to 2, and again for 3 to 2']);
  });

  it('tells of a second copy to a device without a journal', () => {
    const watch = watching({ hasJournal: false });
    watch(command());
    watch(command());
    expect(violations).toEqual(['Pay one went twice to terminal 1, which keeps no journal']);
  });
});

describe('an ERP that is called back', () => {
  function receiving() {
    const clock = createEventClock();
    const plan = { ...drawPlan(seededRandom(1)), badErpRate: 0 };
    const deps = { clock, random: seededRandom(1), plan, state: { isCalm: true }, trace: () => {}, violated };
    const send = createCallbackReceiver(deps).sendFor('g', createStandstill(clock));
    const tell = (sequence: number) =>
      void send({ id: `callback ${sequence}`, sequence, url: 'http://erp.example/?id=sale&state=x' } as never, undefined as never);
    return { clock, tell };
  }

  it('says nothing when first attempts come one after the other, nor when one is repeated', async () => {
    const { clock, tell } = receiving();
    for (const sequence of [1, 2, 1]) {
      tell(sequence);
      await clock.advance(1_000);
    }
    expect(violations).toEqual([]);
  });

  it('tells of a first attempt that came after a younger one [D26]', async () => {
    const { clock, tell } = receiving();
    for (const sequence of [2, 1]) {
      tell(sequence);
      await clock.advance(1_000);
    }
    expect(violations).toEqual(['callback 1 of sale was first tried after callback 2']);
  });

  it('tells of one that was sent while an older one was in progress', () => {
    const { tell } = receiving();
    tell(1);
    tell(2);
    expect(violations).toEqual(['callback 2 of sale was sent while 1 was still under way']);
  });

  it('says nothing when that is a second copy of one that was delivered', async () => {
    const { clock, tell } = receiving();
    tell(1);
    await clock.advance(1_000);
    tell(1);
    tell(2);
    expect(violations).toEqual([]);
  });
});

describe('in the calm', () => {
  let world: TrueDay;
  beforeAll(async () => {
    world = await sellTruly();
  });
  afterAll(() => world.shop.close());

  it('what was begun long ago and is still open is reported, and nothing else', () => {
    const { shop } = world;
    const told = { ...shop, violated } as Shop;
    tellWhatIsOpen(told, 1_000);
    shop.storage.peek(`update commands set state = 'unknown', settled_at = null, settled_by = null where name = 'Refund'`, []);
    tellWhatIsOpen(told, 24 * 3_600_000);
    expect(violations).toEqual([]);
    tellWhatIsOpen(told, 30_000);
    expect(violations).toEqual([expect.stringMatching(/^Refund .* on terminal 1 is still unknown after 0.5 minutes of calm$/)]);
  });
});
