// Kills under load: tills pay, print and invoice without pause, and repeat what was not answered, as an ERP would, while servers are
// killed one after the other. Afterwards every acknowledged outcome is in the ledger, and all books agree to the ban.
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import { type Erp, startErp } from '../callbacks/erp.ts';
import {
  expectRegisterAgrees,
  expectTerminalAgrees,
  type LedgerPlace,
  type LedgerRow,
  readBank,
  readFiscalMemory,
  readLedger,
} from '../support/books.ts';
import { patienceMs } from '../support/gateway-process.ts';
import { seededRandom } from '../support/seeded-random.ts';
import type { Shop, ShopDevice } from '../support/served-shop.ts';
import { type Answer, eventually } from '../support/till.ts';

export interface Victim {
  name: string;
  /** Resolves with the moment, if it was a named one. */
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
  /** Hears of each round, in a long series. */
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
  /** Calls that got no answer, or one that says "not known". */
  unanswered: number;
  /** Acknowledged outcomes that the ledger does not have exactly once. */
  lost: number;
  /** Charges and prints beyond the one of their documentNr or Uid. */
  doubled: number;
  seconds: number;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
/** Answers after which a till repeats the same request. */
const isOpenQuestion = ({ errorCode }: Answer) => [1, 2, 3, 30, 31].includes(errorCode);

export async function runKillSeries(series: Series): Promise<SeriesResult> {
  const { shop, terminals, registers, victims, rounds, report } = series;
  const random = seededRandom(series.seed);
  const startedAt = performance.now();
  const killsOf: Record<string, number> = {};
  const erp: Erp = await startErp();
  const acknowledged: { kind: 'Pay' | 'PrintReceipt'; report: string }[] = [];
  const invoices: { OID: string; QR: string }[] = [];
  let unanswered = 0;
  let done = 0;
  let isOver = false;
  /** What the killer is at. */
  let phase = '';
  let phaseSince = startedAt;
  const enter = (name: string) => {
    phase = name;
    phaseSince = performance.now();
  };

  /** Until there is an outcome, whatever happens to the gateway meanwhile. */
  async function insist(call: () => Promise<Answer | undefined>, isOpen = isOpenQuestion): Promise<Answer> {
    const endsAt = performance.now() + 4 * patienceMs;
    /** How often which answer, or which trouble, for whoever has to find out why. */
    const heard: Record<string, number> = {};
    for (;;) {
      const note = (what: unknown) => {
        heard[String(what)] = (heard[String(what)] ?? 0) + 1;
      };
      const answer = await call().catch((error: unknown) => note(error));
      if (answer) note(answer.errorCode);
      if (answer && !isOpen(answer)) {
        done += 1;
        return answer;
      }
      unanswered += 1;
      if (performance.now() > endsAt) {
        const said = `${shop.gateway.out()}\n${shop.gateway.err()}`.slice(-5_000);
        const until = `${phase} for ${Math.round(performance.now() - phaseSince)} ms`;
        throw new Error(`No outcome in ${4 * patienceMs} ms; heard ${JSON.stringify(heard)}; ${until}; the gateway said:\n${said}`);
      }
      await pause(100);
    }
  }

  /** Half of all calls bring an Idempotency-Key, which a repeat brings again: by the number alone, or by both, nothing is done twice. */
  function keyOfCall(): Record<string, string> {
    return random.fraction() < 0.5 ? { 'idempotency-key': randomUUID() } : {};
  }

  async function sellByCard({ id: DeviceID }: ShopDevice): Promise<void> {
    const documentNr = randomUUID();
    const body = {
      DeviceID,
      amount: `${1 + Math.floor(random.fraction() * 500)}.${pick(['00', '00', '50', '61', '67', '68', '69'])}`,
      documentNr,
    };
    const key = keyOfCall();
    const paid = await insist(() => shop.till.post('/Device/payment/Pay', body, key));
    if (paid.errorCode === 50) return;
    expect(paid, JSON.stringify(body)).toMatchObject({ errorCode: 0 });
    acknowledged.push({ kind: 'Pay', report: paid.report ?? '' });
    const { operationId } = JSON.parse(paid.report ?? '{}');
    // A terminal that lost its power before it began refuses; the document must be closed all the same.
    let closingKey = keyOfCall();
    const isNotClosed = (answer: Answer) => {
      // A refusal stands under its key for good: to close is to ask anew.
      if (answer.errorCode === 50) closingKey = keyOfCall();
      return isOpenQuestion(answer) || answer.errorCode === 50;
    };
    const close = () => shop.till.post('/Device/payment/CloseDoc', { DeviceID, documentNr, operationId }, closingKey);
    const closed = await insist(close, isNotClosed);
    expect(closed).toMatchObject({ errorCode: 0 });
  }

  async function print({ id: DeviceID }: ShopDevice): Promise<void> {
    const Price = Number(`${1 + Math.floor(random.fraction() * 500)}.${pick(['00', '50', '61', '67', '68', '69', '75'])}`);
    const Payments = [{ PaymentCode: pick([0, 1]) }];
    const body = { DeviceID, Receipt: { Uid: randomUUID(), Items: [{ Name: 'Bread', Quantity: 1, Price }], Payments } };
    const key = keyOfCall();
    const printed = await insist(() => shop.till.post('/Device/Invoice/Pay', body, key));
    if (printed.errorCode === 50) return;
    expect(printed, JSON.stringify(body)).toMatchObject({ errorCode: 0 });
    acknowledged.push({ kind: 'PrintReceipt', report: printed.report ?? '' });
  }

  async function invoice(): Promise<void> {
    const key = { 'idempotency-key': randomUUID() };
    const body = { CallbackURI: `${erp.base}/#OID#/#State#`, Receipt: { Items: [{ Name: 'Tea', Quantity: 1, Price: 3 }] } };
    const created = await insist(() => shop.till.post('/Invoice/Create', body, key));
    expect(created).toMatchObject({ errorCode: 0 });
    const [QR, OID] = [String(created['QR']), String(created['OID'])];
    invoices.push({ QR, OID });
    expect(await insist(() => shop.till.get('/Invoice/Get', { QR }))).toMatchObject({ errorCode: 0 });
    const paid = { QR, ReceiptID: OID, DeviceID: registers[0]?.id ?? '' };
    expect(await insist(() => shop.till.get('/Invoice/Payd', paid))).toMatchObject({ errorCode: 0 });
    await pause(150);
  }

  function pick<Item>(items: Item[]): Item {
    return items[Math.floor(random.fraction() * items.length)] as Item;
  }

  async function goOn(work: () => Promise<void>): Promise<void> {
    while (!isOver) await work();
  }

  const workers = [
    ...terminals.map((one) => goOn(() => sellByCard(one))),
    ...registers.map((one) => goOn(() => print(one))),
    goOn(invoice),
  ];
  const failed = Promise.all(workers).then(() => undefined);
  const progress = () => Math.min(done / 8, acknowledged.length / 2);
  const getOn = async (from = progress()) => {
    await eventually('the tills get on', progress, (now) => isOver || now >= from + 1, 4 * patienceMs);
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
      report?.(`${round + 1} of ${rounds} after ${minutes} min: ${what} killed and restarted, ${acknowledged.length} sales so far`);
    }
    await getOn();
  }
  const kills = killOneByOne();
  try {
    // A till that fails ends the series at once.
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
  // A connection that broke while the gateway lived is tried again after a minute.
  await eventually('every callback is delivered', untold, (left) => left.length === 0, 3 * patienceMs);
  const isWrittenOnce = ({ kind, report: told }: (typeof acknowledged)[number]) =>
    rows.filter((row) => row.name === kind && row.report === told && row.state === 'done').length === 1;
  const lost = acknowledged.filter((one) => !isWrittenOnce(one));
  expect(lost, 'acknowledged, and not in the ledger exactly once').toEqual([]);
  const doubled = doneTwice(rows, [...terminals, ...registers]);
  expect(doubled, 'charged or printed more than once for one documentNr or Uid').toEqual([]);
  for (const { QR } of invoices) expect(await shop.till.get('/Invoice/Status', { QR })).toMatchObject({ errorCode: 0, Status: 2 });
  for (const { id, stateDir } of terminals) expectTerminalAgrees({ ledger: rows, deviceId: id, stateDir });
  for (const { id, stateDir } of registers) expectRegisterAgrees({ ledger: rows, deviceId: id, stateDir });
  expect(rows.filter(({ review_since }) => review_since !== null)).toEqual([]);
  await erp.close();
  return {
    kills: Object.values(killsOf).reduce((sum, count) => sum + count, 0),
    killsOf,
    payments: acknowledged.filter(({ kind }) => kind === 'Pay').length,
    receipts: acknowledged.filter(({ kind }) => kind === 'PrintReceipt').length,
    invoices: invoices.length,
    callbacks: erp.heard.length,
    unanswered,
    lost: lost.length,
    doubled: doubled.length,
    seconds: Math.round((performance.now() - startedAt) / 1000),
  };
}

/** From the devices' own books alone: each intent (documentNr, Receipt.Uid) with more than one standing charge or print. */
function doneTwice(rows: LedgerRow[], devices: ShopDevice[]): string[] {
  const intentOf = new Map(rows.map((row) => [row.id, row.document_nr ?? row.receipt_uid ?? row.id]));
  const intents = devices.flatMap(({ kind, stateDir }) => {
    const charges = readBank(stateDir).filter((entry) => entry.kind === 'charge');
    const receipts = readFiscalMemory(stateDir).filter(({ type }) => type === 'receipt');
    return kind === 'terminal' ? charges.map(({ reference }) => reference) : receipts.map(({ commandId }) => commandId);
  });
  const seen = new Set<string>();
  return intents
    .map((id) => intentOf.get(id) ?? id)
    .filter((intent) => {
      const isSecond = seen.has(intent);
      seen.add(intent);
      return isSecond;
    });
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
    timeoutMs: (8 + count) * patienceMs,
    report: rounds === undefined ? undefined : (line: string) => console.log(line),
    /** For the summary of `npm run kill9`. */
    keep(result: SeriesResult): void {
      if (resultFile !== undefined) writeFileSync(resultFile, JSON.stringify(result));
    },
  };
}
