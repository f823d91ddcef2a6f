// Which device is whose is believed from memory for seconds while the device is connected [D38]: never longer, and never against a fresh word.
import { beforeEach, expect, it } from 'vitest';
import { deviceAccessTopic } from '../../src/access/merchant-device.ts';
import { databaseDown } from '../../src/database/errors.ts';
import { openDatabase } from '../../src/database/open.ts';
import type { SqliteExecutor } from '../../src/database/sqlite/driver.ts';
import { createMemoryStorage } from '../../src/database/sqlite/memory.ts';
import { sleep } from '../../src/kernel/clock.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createSaleWorld, type SaleWorld } from '../support/sale-world.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

let world: SaleWorld;
let terminal: Awaited<ReturnType<SaleWorld['terminal']>>;
let looks: number;
let loads: number;

beforeEach(async () => {
  world = await createSaleWorld();
  terminal = await world.terminal();
  looks = 0;
  loads = 0;
  world.hook = ({ sql, when }) => {
    if (when === 'before' && sql.startsWith('select') && sql.includes('from "devices"')) looks += 1;
    if (when === 'before' && isLookUp(sql)) loads += 1;
    return undefined;
  };
});

/** Of the device alone, or with the whole case of a call. */
const isLookUp = (sql: string) => sql.startsWith('select') && /(?:from|join) "devices"/.test(sql);

async function sell(): Promise<number> {
  const documentNr = world.random.uuid();
  const { code, report } = await world.run(world.pay(terminal.id, 10, documentNr));
  if (code !== 0) return code;
  const call = { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId: String(report?.['operationId']) };
  return (await world.run(world.cards.closeDoc(call))).code;
}

const disable = () => world.database.queries.updateTable('devices').set({ disabled_at: 1 }).where('id', '=', terminal.id).execute();

it('is looked up once for the calls of five seconds', async () => {
  expect([await sell(), await sell()]).toEqual([0, 0]);
  expect(looks).toBe(1);
  await world.clock.advance(5_000);
  expect(await sell()).toBe(0);
  expect(looks).toBe(2);
});

it('ends at once with the notice that a device was cut off, and within five seconds without it', async () => {
  expect(await sell()).toBe(0);
  await disable();
  world.database.wake(deviceAccessTopic, terminal.id);
  expect(await sell()).toBe(30);
  await world.database.queries.updateTable('devices').set({ disabled_at: null }).execute();
  expect(await sell()).toBe(0);
  await disable();
  expect(await sell()).toBe(0);
  await world.clock.advance(5_000);
  expect(await sell()).toBe(30);
});

it('is never cached for another merchant, nor for a device that does not exist', async () => {
  expect(await sell()).toBe(0);
  const foreign = world.cards.pay({
    merchantId: world.otherMerchantId,
    deviceId: terminal.id,
    amountBani: 100,
    documentNr: world.random.uuid(),
  });
  expect((await world.run(foreign)).code).toBe(30);
  world.setAway(terminal.id, true);
  await world.clock.advance(60_000);
  loads = 0;
  await world.run(world.pay(terminal.id, 10));
  expect(loads).toBeGreaterThan(0);
});

it('sends nothing for a call that waited longer for its lookup than a customer waits at a terminal', async () => {
  const clock = createVirtualClock(undefined, { settle: 'microtasks' });
  const storage = createMemoryStorage();
  let isFrozen = false;
  const frozen = async () => {
    if (!isFrozen) return;
    await sleep(clock, 6_000);
    if (isFrozen) throw databaseDown('No answer.');
  };
  const slow = (executor: SqliteExecutor): SqliteExecutor => ({
    ...executor,
    async run(sql, parameters, place) {
      if (isLookUp(sql)) await frozen();
      return executor.run(sql, parameters, place);
    },
    async script(statements) {
      if (statements.some(({ sql }) => isLookUp(sql))) await frozen();
      return executor.script(statements);
    },
  });
  const database = await openDatabase({
    inMemory: true,
    storage: { ...storage, connect: (now) => slow(storage.connect(now)) },
    role: 'gateway',
    clock,
    logger: quietLogger,
  });
  const shop = await createSaleWorld({ clock, database });
  const terminals = [];
  for (let count = 0; count < 13; count += 1) terminals.push(await shop.terminal());
  await clock.advance(100);
  isFrozen = true;
  // Six are looked up at once, for six seconds each: the thirteenth begins after twelve.
  const codes = terminals.map(({ id }) => shop.told(shop.pay(id, 10)).then(({ code }) => code));
  await clock.advance(17_000);
  isFrozen = false;
  await clock.advance(60_000);
  expect(new Set(await Promise.all(codes))).toEqual(new Set([2]));
  expect(shop.ledgerSends()).toEqual([]);
  await shop.stop();
});
