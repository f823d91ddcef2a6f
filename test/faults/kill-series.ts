// Kills under load: tills run without pause and repeat unanswered calls (series-tills.ts), while servers are killed one after the
// other. Afterwards every acknowledged outcome is in the ledger, every device operation was acknowledged, and all books agree to the ban.
import { writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import { type Erp, startErp } from '../callbacks/erp.ts';
import { coreOf, expectRegisterAgrees, expectTerminalAgrees, type LedgerPlace, readLedger } from '../support/books.ts';
import { core } from '../support/core.ts';
import { patienceMs } from '../support/gateway-process.ts';
import { seededRandom } from '../support/seeded-random.ts';
import type { Shop, ShopDevice } from '../support/served-shop.ts';
import { eventually } from '../support/till.ts';
import { doneTwice, doneUndelivered } from './series-books.ts';
import { type Acknowledged, createTills } from './series-tills.ts';

export interface Victim {
  name: string;
  /** Resolves with the name of the moment, if it was a named one. */
  kill9(): Promise<string | void>;
  restart(): Promise<void>;
}

interface Series {
  shop: Shop;
  ledger: LedgerPlace;
  terminals: ShopDevice[];
  registers: ShopDevice[];
  victims: Victim[];
  rounds: number;
  seed: number;
  /** Called after each round of a long series. */
  report?: ((line: string) => void) | undefined;
}

export interface SeriesResult {
  kills: number;
  /** How often each victim was killed, and at which named moments. */
  killsOf: Record<string, number>;
  payments: number;
  receipts: number;
  invoices: number;
  callbacks: number;
  /** Operations identified only by an Idempotency-Key, and how many of them were acknowledged only after a repeat. */
  byKeyAlone: number;
  repeatedByKeyAlone: number;
  /** Calls without an answer, or with the answer "unknown". */
  unanswered: number;
  /** Acknowledged outcomes that the ledger does not have exactly once. */
  lost: number;
  /** Second operations under one documentNr or Uid, and operations that were never acknowledged. */
  doubled: number;
  seconds: number;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export async function runKillSeries(series: Series): Promise<SeriesResult> {
  const { shop, terminals, registers, victims, rounds, report } = series;
  const random = seededRandom(series.seed);
  const startedAt = performance.now();
  const killsOf: Record<string, number> = {};
  const erp: Erp = await startErp();
  let isOver = false;
  /** The current phase of the killer. */
  let phase = '';
  let phaseSince = startedAt;
  const enter = (name: string) => {
    phase = name;
    phaseSince = performance.now();
  };

  const tills = createTills({
    shop,
    random,
    erpBase: erp.base,
    payingDeviceId: registers[0]?.id ?? '',
    phase: () => `${phase} for ${Math.round(performance.now() - phaseSince)} ms`,
  });
  const { acknowledged, invoices } = tills;

  async function goOn(work: () => Promise<void>): Promise<void> {
    while (!isOver) await work();
  }

  const workers = [
    ...terminals.map((one) => goOn(() => tills.useTerminal(one))),
    ...registers.map((one) => goOn(() => tills.useRegister(one))),
    goOn(tills.invoice),
  ];
  const failed = Promise.all(workers).then(() => undefined);
  const isSale = ({ name }: Acknowledged) => name === 'Pay' || name === 'PrintReceipt';
  const progress = () => Math.min(tills.done / 8, acknowledged.filter(isSale).length / 2);
  // On a busy machine gateways may be killed faster than they settle: wait for a till that has waited long.
  const isPatient = () => tills.longestWaitMs() < patienceMs;
  const getOn = async (from = progress()) => {
    await eventually('the tills get on', progress, (now) => isOver || (now >= from + 1 && isPatient()), 4 * patienceMs);
  };
  async function killOneByOne(): Promise<void> {
    for (let round = 0; round < rounds && !isOver; round += 1) {
      enter('the tills get on');
      await getOn();
      await pause(random.fraction() * 1_000);
      const victim = victims[round % victims.length];
      if (!victim) throw new Error('There is nobody to kill.');
      enter(`${victim.name} is killed`);
      const moment = await victim.kill9();
      const what = moment === undefined ? victim.name : `${victim.name} ${moment}`;
      killsOf[what] = (killsOf[what] ?? 0) + 1;
      await pause(random.fraction() * 300);
      enter(`${what} starts again`);
      await victim.restart();
      const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1);
      report?.(
        `${round + 1} of ${rounds} after ${minutes} min: ${what} killed and restarted, ${acknowledged.filter(isSale).length} sales so far`,
      );
    }
    await getOn();
  }
  const kills = killOneByOne();
  try {
    // A failing till ends the series at once.
    await Promise.race([kills, failed]);
  } finally {
    isOver = true;
    await Promise.allSettled([kills, ...workers]);
  }
  await failed;

  const isSettled = (rows: { state: string }[]) => rows.every(({ state }) => state !== 'sent' && state !== 'unknown');
  const rows = await eventually('all is settled', () => readLedger(series.ledger), isSettled, 2 * patienceMs);
  const heard = (OID: string, state: string) => erp.heard.some(({ url }) => url === `/${OID}/${state}`);
  const untold = () => invoices.filter(({ OID }) => !heard(OID, 'Scanned') || !heard(OID, 'Payed'));
  // A callback whose connection broke is retried after a minute.
  await eventually('every callback is delivered', untold, (left) => left.length === 0, 3 * patienceMs);
  const isWrittenOnce = ({ name, oid, report: told }: Acknowledged) =>
    rows.filter((row) => row.id === oid && row.name === name && (row.report ?? '') === told && row.state === 'done').length === 1;
  const lost = acknowledged.filter((one) => !isWrittenOnce(one));
  expect(lost, 'acknowledged, and not in the ledger exactly once').toEqual([]);
  const devices = [...terminals, ...registers];
  const doubled = [...doneTwice(rows, devices), ...doneUndelivered(acknowledged, devices)];
  expect(doubled, 'done more than once for one documentNr or Uid, or under a command that no till was told of').toEqual([]);
  for (const { QR } of invoices) expect(await shop.till.get('/Invoice/Status', { QR })).toMatchObject({ errorCode: 0, Status: 2 });
  for (const { id, stateDir } of terminals) expectTerminalAgrees({ ledger: rows, deviceId: id, stateDir });
  for (const { id, stateDir } of registers) expectRegisterAgrees({ ledger: rows, deviceId: id, stateDir });
  expect(await coreOf(series.ledger)).toBe(core);
  expect(rows.filter(({ review_since }) => review_since !== null)).toEqual([]);
  await erp.close();
  const byKeyAlone = acknowledged.filter((one) => one.isByKeyAlone);
  return {
    kills: Object.values(killsOf).reduce((sum, count) => sum + count, 0),
    killsOf,
    payments: acknowledged.filter(({ name }) => name === 'Pay').length,
    receipts: acknowledged.filter(({ name }) => name === 'PrintReceipt').length,
    byKeyAlone: byKeyAlone.length,
    repeatedByKeyAlone: byKeyAlone.filter(({ isRepeated }) => isRepeated).length,
    invoices: invoices.length,
    callbacks: erp.heard.length,
    unanswered: tills.unanswered,
    lost: lost.length,
    doubled: doubled.length,
    seconds: Math.round((performance.now() - startedAt) / 1000),
  };
}

/** `npm run kill9` sets these; in CI the series is short. */
export function seriesSettings(shortRounds: number) {
  const { TILLGATE_TEST_KILL_ROUNDS: rounds, TILLGATE_TEST_KILL_SEED: seed, TILLGATE_TEST_KILL_VICTIMS: victims } = process.env;
  const resultFile = process.env['TILLGATE_TEST_KILL_RESULT'];
  const count = Number(rounds ?? shortRounds);
  return {
    rounds: count,
    seed: Number(seed ?? 1),
    victims: victims?.split(','),
    // A server may need a minute or more to start on a busy machine; hanging calls time out long before.
    timeoutMs: (8 + 4 * count) * patienceMs,
    report: rounds === undefined ? undefined : (line: string) => console.log(line),
    /** For the summary of `npm run kill9`. */
    keep(result: SeriesResult): void {
      if (resultFile !== undefined) writeFileSync(resultFile, JSON.stringify(result));
    },
  };
}
