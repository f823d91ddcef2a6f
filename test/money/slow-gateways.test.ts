// Two gateways whose database answers at random moments, from at once to a minute later: calls of tills in every order, answers of
// terminals that are lost, doubled or late, terminals that go away. Judged by the bank, which knows nothing of the rules.
import { expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { type Clock, sleep } from '../../src/kernel/clock.ts';
import type { DeviceAnswer } from '../../src/ledger/answers.ts';
import { operationStatus } from '../../src/ledger/operation-status.ts';
import type { BankEntry } from '../../src/virtual/books/bank.ts';
import { byDayOrNight } from '../support/at-length.ts';
import { createSaleWorld, type SaleWorld, type Told } from '../support/sale-world.ts';
import { seededRandom } from '../support/seeded-random.ts';

const numbers = ['sale-1', 'sale-2', 'sale-3'];

type Draw = <Value>(values: readonly Value[]) => Value;

/** Each look and each commit may take a while, before it is done and after. */
function dawdling(database: Database, clock: Clock, draw: Draw): Database {
  const pause = () => {
    const ms = draw([0, 0, 0, 0, 3, 20, 60, 150, 300, 700, 2_500, 30_000]);
    return ms === 0 ? Promise.resolve() : sleep(clock, ms);
  };
  const slowly = async <Value>(work: () => Promise<Value>) => {
    await pause();
    const value = await work();
    await pause();
    return value;
  };
  return {
    ...database,
    inOneGo: (statements) => slowly(() => database.inOneGo(statements)),
    transaction: (work) => slowly(() => database.transaction(work)),
    snapshot: (work) => slowly(() => database.snapshot(work)),
  };
}

interface Call {
  what: string;
  told?: Told;
}

async function play(seed: number) {
  const world = await createSaleWorld({ seed, core: 'new' });
  // Of its own, so that a change of the gateway's draws does not change the calls.
  const { fraction } = seededRandom(seed + 1_000_000);
  const draw: Draw = (values) => values[Math.floor(fraction() * values.length)] as never;
  const chance = (rate: number) => fraction() < rate;
  const gateways: Awaited<ReturnType<SaleWorld['startLife']>>[] = [];
  for (let count = 0; count < 2; count += 1)
    gateways.push(await world.startLife({ database: dawdling(world.database, world.clock, draw) }));
  const terminals: Awaited<ReturnType<SaleWorld['terminal']>>[] = [];
  for (let count = 0; count < 2; count += 1) terminals.push(await world.terminal({ timing: { customerMs: 60, bankMs: 40 } }));
  await world.clock.advance(60_000);
  world.onAnswer = (answer) => (chance(0.04) ? undefined : answer);

  const calls: Call[] = [];

  /** What the tills know of the payments that were answered. */
  const known = () => calls.flatMap(({ told }) => (told?.report?.['token'] === undefined ? [] : [told.report]));

  function ask(): [what: string, call: Promise<DeviceAnswer>] {
    const { cards } = draw(gateways);
    const { id: deviceId } = draw(terminals);
    const documentNr = draw(numbers);
    const call = { merchantId: world.merchantId, deviceId };
    const amountBani = draw([1_000, 1_000, 1_000, 1_061]);
    const unnamed = chance(0.15);
    const idempotency = chance(0.4)
      ? { key: `${documentNr} ${amountBani} ${deviceId}`, requestHash: `${deviceId} ${documentNr} ${amountBani}` }
      : undefined;
    const key = idempotency ? { idempotency } : {};
    const payment = known().length > 0 ? draw(known()) : undefined;
    const what = payment
      ? draw(['Pay', 'Pay', 'Pay', 'Abort', 'CloseDoc', 'CloseDoc', 'Refund', 'Void', 'CloseDay'])
      : draw(['Pay', 'Abort']);
    const owner = terminals.find(({ bank }) => bank.charges().some(({ entry }) => entry.rrn === payment?.['rrn']));
    const charge = owner?.bank.charges().find(({ entry }) => entry.rrn === payment?.['rrn'])?.entry;
    const named = {
      ...call,
      deviceId: owner?.id ?? deviceId,
      ...{ documentNr: charge?.documentNr ?? 'none', operationId: String(payment?.['operationId']), rrn: String(payment?.['rrn']) },
    };
    const detail = `${what} ${documentNr} ${amountBani} ${idempotency?.key ?? ''} ${charge?.reference ?? ''}`;
    switch (what) {
      case 'Pay':
        return unnamed
          ? [`${what} unnamed`, cards.pay({ ...call, amountBani: 500, documentNr: undefined, hashRequest: () => 'equal' })]
          : [detail, cards.pay({ ...call, amountBani, documentNr, ...key })];
      case 'Abort':
        return [detail, cards.cancelTransaction({ ...call, documentNr, operationId: 'none', token: '', amountBani })];
      case 'CloseDoc':
        return [detail, cards.closeDoc(named)];
      case 'Refund':
        return [detail, cards.refund({ ...named, amountBani: draw([300, 400, 1_000]), currency: undefined, hashRequest: () => detail })];
      case 'Void':
        return [detail, cards.cancelTransaction({ ...named, token: String(payment?.['token']), amountBani: charge?.amountBani ?? 0 })];
      default:
        return [detail, cards.closeDay(call)];
    }
  }

  for (let turn = 0; turn < 60; turn += 1) {
    const [what, call] = ask();
    const entry: Call = { what };
    calls.push(entry);
    void world.told(call).then((told) => (entry.told = told));
    if (chance(0.02)) {
      const { id } = draw(terminals);
      world.setAway(id, true);
      world.clock.after(draw([5_000, 60_000, 400_000]), () => world.setAway(id, false));
    }
    await world.clock.advance(draw([0, 0, 0, 0, 20, 100, 400, 1_500, 5_000]));
  }
  world.onAnswer = (answer) => answer;
  await world.clock.runUntil(() => calls.every(({ told }) => told !== undefined), 60 * 60_000);
  await world.clock.advance(20 * 60_000);
  return { world, terminals, calls };
}

type Played = Awaited<ReturnType<typeof play>>;

const toldOf = (calls: readonly Call[]) =>
  calls
    .map(({ what, told }) => `${what} -> ${told?.code} ${told?.state ?? ''} ${told?.oid ?? ''} ${told?.message.slice(0, 60)}`)
    .join('\n');

async function statusOf(world: SaleWorld, named: { oid?: string; documentNr?: string }): Promise<Told> {
  const asked = { merchantId: world.merchantId, modules: new Set(['POS'] as const), ...named };
  return world.run(operationStatus(world.life, asked));
}

/** What an ERP was told, and what the bank has. */
async function judge({ world, terminals, calls }: Played): Promise<string[]> {
  const wrong: string[] = [];
  const charges = terminals.flatMap(({ bank }) => bank.charges());
  const entries: BankEntry[] = terminals.flatMap(({ bank }) => bank.entries());
  const commands = await world.commands();
  for (const { id, state, name, reviewSinceMs } of commands)
    if (state !== 'done' && state !== 'refused' && state !== 'never') wrong.push(`${name} ${id} is ${state} in the end (${reviewSinceMs})`);
  for (const { id, state, name } of commands) {
    const made = entries.filter(({ reference, kind }) => reference === id && kind !== 'decline').length;
    if (made > 1) wrong.push(`${name} ${id} was made ${made} times`);
    if (name !== 'CloseDay' && (state === 'done') !== (made === 1))
      wrong.push(`${name} ${id} is ${state}, and the bank has made it ${made} times`);
  }
  for (const number of numbers) {
    const made = charges.filter(({ entry }) => entry.documentNr === number);
    if (made.length > 1) wrong.push(`${number} was charged ${made.length} times`);
    const { code, state } = await statusOf(world, { documentNr: number });
    const [one] = made;
    const left = one && !one.isVoided && one.refundedBani < one.entry.amountBani;
    if (left !== true && (state === 'Done' || state === 'Closed')) wrong.push(`${number} is ${state}, and the bank has nothing`);
    if (left === true && !(code === 0 && (state === 'Done' || state === 'Closed')))
      wrong.push(`${number} is ${code} ${state}, and is charged`);
    if (one?.isVoided && state !== 'Voided') wrong.push(`${number} is ${state}, and voided`);
  }
  const refused = terminals.flatMap(({ bank }) => bank.charges()).filter(({ refundedBani, entry }) => refundedBani > entry.amountBani);
  if (refused.length > 0) wrong.push('more was refunded than paid');
  for (const { what, told } of calls) {
    if (!told) continue;
    const made = entries.filter(({ reference, kind }) => reference === told.oid && kind !== 'decline');
    const isMoney = /^(Pay|Refund|Void)/.test(what);
    if (isMoney && told.code === 0 && told.state !== 'Refused' && told.state !== 'Never' && made.length === 0)
      wrong.push(`0, and nothing was made: ${what}`);
    if ([30, 31, 40, 41, 50, 2].includes(told.code) && made.length > 0) wrong.push(`${told.code}, and it was made: ${what}`);
    if (what.startsWith('Abort') && told.code === 0 && charges.some(({ entry }) => entry.reference === told.oid))
      wrong.push(`stopped, and charged: ${what}`);
  }
  return wrong;
}

it('tell the truth about every payment, and charge each number once', { timeout: 120_000 }, async () => {
  const counted = new Map<number, number>();
  for (let seed = 1; seed <= byDayOrNight(12, 400); seed += 1) {
    const played = await play(seed);
    const wrong = await judge(played);
    for (const { told } of played.calls) counted.set(told?.code ?? -1, (counted.get(told?.code ?? -1) ?? 0) + 1);
    expect(wrong, `seed ${seed}\n${toldOf(played.calls)}`).toEqual([]);
    await played.world.stop();
  }
  // No search may be empty.
  for (const code of [0, 3, 22, 31, 50]) expect(counted.get(code) ?? 0, `answers ${code}`).toBeGreaterThan(0);
});
