// The tills of a kill series: they pay, print, move cash, make reports and invoice without pause, and repeat unanswered calls until
// there is an outcome, like an ERP. A repeat is the same request under the same documentNr or Receipt.Uid, Idempotency-Key, or both;
// with a key alone only the key prevents a duplicate. Every success is recorded with its OID: a device operation without
// such a record is a duplicate (series-books.ts).
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { Random } from '../../src/kernel/random.ts';
import { patienceMs } from '../support/gateway-process.ts';
import type { Shop, ShopDevice } from '../support/served-shop.ts';
import type { Answer } from '../support/till.ts';

export interface Acknowledged {
  /** The name of the command in the ledger. */
  name: string;
  oid: string;
  report: string;
  isByKeyAlone: boolean;
  /** It was acknowledged only after a repeat. */
  isRepeated: boolean;
}

interface TillsDeps {
  shop: Shop;
  random: Random;
  /** The address of callbacks. */
  erpBase: string;
  /** The device that pays the invoices. */
  payingDeviceId: string;
  /** The current phase of the killer. */
  phase(): string;
}

export interface Tills {
  readonly acknowledged: Acknowledged[];
  readonly invoices: { OID: string; QR: string }[];
  /** Calls with an outcome. */
  readonly done: number;
  /** Calls without an answer, or with the answer "unknown". */
  readonly unanswered: number;
  /** The longest current wait for an outcome. */
  longestWaitMs(): number;
  useTerminal(device: ShopDevice): Promise<void>;
  useRegister(device: ShopDevice): Promise<void>;
  invoice(): Promise<void>;
}

/** The identifiers that prevent a duplicate: the number, both, or the key alone. */
type Naming = 'number' | 'both' | 'key';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const newKey = () => ({ 'idempotency-key': randomUUID() });
const refused = 50;
/** Answers after which a till repeats the same request. */
const isOpenQuestion = ({ errorCode }: Answer) => [1, 2, 3, 30, 31].includes(errorCode);

export function createTills({ shop, random, erpBase, payingDeviceId, phase }: TillsDeps): Tills {
  const acknowledged: Acknowledged[] = [];
  const invoices: { OID: string; QR: string }[] = [];
  let done = 0;
  let unanswered = 0;
  /** Start times of the calls without an outcome. */
  const waitingSince = new Set<{ at: number }>();

  /** Repeats the call until there is an outcome, whatever happens to the gateway. */
  async function insist(
    call: () => Promise<Answer | undefined>,
    isOpen = isOpenQuestion,
  ): Promise<{ answer: Answer; isRepeated: boolean }> {
    const since = { at: performance.now() };
    const endsAt = since.at + 4 * patienceMs;
    waitingSince.add(since);
    /** Counts of answers and errors, for the failure message. */
    const heard: Record<string, number> = {};
    for (let calls = 1; ; calls += 1) {
      const note = (what: unknown) => {
        heard[String(what)] = (heard[String(what)] ?? 0) + 1;
      };
      const answer = await call().catch((error: unknown) => note(error));
      if (answer) note(answer.errorCode);
      if (answer && !isOpen(answer)) {
        done += 1;
        waitingSince.delete(since);
        return { answer, isRepeated: calls > 1 };
      }
      unanswered += 1;
      if (performance.now() > endsAt) {
        const said = `${shop.gateway.out()}\n${shop.gateway.err()}`.slice(-5_000);
        throw new Error(`No outcome in ${4 * patienceMs} ms; heard ${JSON.stringify(heard)}; ${phase()}; the gateway said:\n${said}`);
      }
      await pause(100);
    }
  }

  /** Sends a command to a device; undefined: refused, which is final under its key. */
  async function order(name: string, path: string, body: object, naming: Naming): Promise<Answer | undefined> {
    const key = naming === 'number' ? {} : newKey();
    const { answer, isRepeated } = await insist(() => shop.till.post(path, body, key));
    if (answer.errorCode === refused) return undefined;
    expect(answer, `${path} ${JSON.stringify(body)}, named by ${naming}`).toMatchObject({ errorCode: 0, OID: expect.any(String) });
    acknowledge(name, answer, { isByKeyAlone: naming === 'key', isRepeated });
    return answer;
  }

  function acknowledge(name: string, answer: Answer, how: Pick<Acknowledged, 'isByKeyAlone' | 'isRepeated'>): void {
    acknowledged.push({ name, oid: String(answer['OID']), report: answer.report ?? '', ...how });
  }

  function pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(random.fraction() * items.length)] as Item;
  }

  const naming = () => pick<Naming>(['number', 'both', 'key']);
  const amount = (endings: readonly string[]) => `${1 + Math.floor(random.fraction() * 500)}.${pick(endings)}`;

  async function sellByCard({ id: DeviceID }: ShopDevice): Promise<void> {
    const namedBy = naming();
    // Later calls about the payment need one in any case.
    const documentNr = randomUUID();
    const body = {
      DeviceID,
      amount: amount(['00', '00', '50', '61', '67', '68', '69']),
      ...(namedBy === 'key' ? {} : { documentNr }),
    };
    const paid = await order('Pay', '/Device/payment/Pay', body, namedBy);
    if (!paid) return;
    const { operationId, rrn } = JSON.parse(paid.report ?? '{}');
    await closeDocument({ DeviceID, documentNr, operationId });
    if (random.fraction() < 0.3)
      await order('Refund', '/Device/payment/Refund', { DeviceID, documentNr, operationId, rrn, amount: '1.00' }, 'key');
    if (random.fraction() < 0.1) await order('CloseDay', '/Device/payment/closeDay', { DeviceID }, 'key');
  }

  /** A terminal that lost power before the start refuses; the document must still be closed. */
  async function closeDocument(body: object): Promise<void> {
    const keyOrNone = () => (random.fraction() < 0.5 ? newKey() : {});
    let key = keyOrNone();
    const isNotClosed = (answer: Answer) => {
      // A refusal is final under its key: the next attempt needs a new one.
      if (answer.errorCode === refused) key = keyOrNone();
      return isOpenQuestion(answer) || answer.errorCode === refused;
    };
    const { answer, isRepeated } = await insist(() => shop.till.post('/Device/payment/CloseDoc', body, key), isNotClosed);
    expect(answer).toMatchObject({ errorCode: 0 });
    // Its payment identifies it in any case.
    acknowledge('CloseDoc', answer, { isByKeyAlone: false, isRepeated });
  }

  async function print({ id: DeviceID }: ShopDevice): Promise<void> {
    const namedBy = naming();
    const Price = Number(amount(['00', '50', '81', '82', '87', '88', '89']));
    const Receipt = {
      ...(namedBy === 'key' ? {} : { Uid: randomUUID() }),
      Items: [{ Name: 'Bread', Quantity: 1, Price }],
      Payments: [{ PaymentCode: pick([0, 1]) }],
    };
    await order('PrintReceipt', '/Device/Invoice/Pay', { DeviceID, Receipt }, namedBy);
  }

  /** Cash operations and reports are identified by a key only. */
  async function useRegister(device: ShopDevice): Promise<void> {
    const { id: DeviceID } = device;
    const Amount = amount(['00', '50', '87', '88', '89']);
    const dice = random.fraction();
    if (dice < 0.12) await order('MoneyIn', '/Device/Money/In', { DeviceID, Amount }, 'key');
    else if (dice < 0.2) await order('MoneyOut', '/Device/Money/Out', { DeviceID, Amount }, 'key');
    else if (dice < 0.3) await order('Report', '/Device/Report/Create', { DeviceID, Fiscal: dice < 0.23 }, 'key');
    else await print(device);
  }

  async function invoice(): Promise<void> {
    const key = newKey();
    const body = { CallbackURI: `${erpBase}/#OID#/#State#`, Receipt: { Items: [{ Name: 'Tea', Quantity: 1, Price: 3 }] } };
    const { answer: created } = await insist(() => shop.till.post('/Invoice/Create', body, key));
    expect(created).toMatchObject({ errorCode: 0 });
    const [QR, OID] = [String(created['QR']), String(created['OID'])];
    invoices.push({ QR, OID });
    const { answer: scanned } = await insist(() => shop.till.get('/Invoice/Get', { QR }));
    expect(scanned).toMatchObject({ errorCode: 0 });
    const { answer: paid } = await insist(() => shop.till.get('/Invoice/Payd', { QR, ReceiptID: OID, DeviceID: payingDeviceId }));
    expect(paid).toMatchObject({ errorCode: 0 });
    await pause(150);
  }

  return {
    acknowledged,
    invoices,
    get done() {
      return done;
    },
    get unanswered() {
      return unanswered;
    },
    longestWaitMs() {
      const now = performance.now();
      return Math.max(0, ...[...waitingSince].map(({ at }) => now - at));
    },
    useTerminal: sellByCard,
    useRegister,
    invoice,
  };
}
