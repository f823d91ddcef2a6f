// The ERP's side: tills that sell, close, refund, void, print and report, repeat what they got no clear answer to, and remember
// what they were told. Every yes and every no is held against the bank's book at once: a no that charged, or a yes that did not, is a lie.
import { errorCodes, GatewayError } from '../src/kernel/error-codes.ts';
import type { Random } from '../src/kernel/random.ts';
import type { JsonObject } from '../src/link/protocol.ts';
import type { GatewayLife } from './gateway-life.ts';
import type { Shop, ShopDevice } from './shop.ts';

export interface Answer {
  /** undefined: nothing came back. */
  code: number | undefined;
  report: JsonObject;
}

export interface Erp {
  /** No new sales from now on; what was begun is brought to an end. */
  close(): void;
  readonly isIdle: boolean;
  readonly counts: { asked: number; sales: number; paid: number; refused: number; givenUp: number; byCode: Record<string, number> };
}

/** Amounts ending so make a virtual device misbehave; most do not. Not 72: that one is busy for ever. */
const magicEndings = [61, 62, 63, 64, 65, 66, 67, 68, 69, 71, 73, 74, 75];
const maxTries = 400;
const maxTriesAfterClosing = 40;

export function startErp(shop: Shop, random: Random): Erp {
  const { clock, merchantId, plan } = shop;
  const counts: Erp['counts'] = { asked: 0, sales: 0, paid: 0, refused: 0, givenUp: 0, byCode: {} };
  let isClosing = false;
  let working = 0;

  const chance = (rate: number) => random.fraction() < rate;
  const between = (from: number, to: number) => Math.floor(from + random.fraction() * (to - from));
  const pause = (ms: number) => new Promise<void>((resolve) => clock.after(ms, resolve));
  const amountBani = () =>
    between(1, 500) * 100 + (chance(0.25) ? (magicEndings[between(0, magicEndings.length)] as number) : between(0, 60));

  /** One HTTP call: it may find no gateway, lose the gateway, lose the answer, or be cut by a proxy. */
  function ask(call: (life: GatewayLife) => Promise<{ report?: string }>): Promise<Answer> {
    counts.asked += 1;
    const { life } = shop;
    const patienceMs = chance(0.1) ? between(5_000, 60_000) : 330_000;
    const isLost = !shop.state.isCalm && chance(plan.lostResponseRate);
    return new Promise((resolve) => {
      const nothing: Answer = { code: undefined, report: {} };
      if (!life) return void clock.after(100, () => resolve(nothing));
      const stopListening = shop.onCrash(() => end(nothing));
      const cancel = clock.after(patienceMs, () => end(nothing));
      function end(answer: Answer): void {
        stopListening();
        cancel();
        counts.byCode[String(answer.code)] = (counts.byCode[String(answer.code)] ?? 0) + 1;
        resolve(answer);
      }
      call(life).then(
        ({ report }) => end(isLost ? nothing : { code: 0, report: parse(report) }),
        (error: unknown) => {
          if (!(error instanceof GatewayError)) shop.violated(`the gateway failed: ${String(error)}`);
          const code = error instanceof GatewayError ? errorCodes[error.errorName].code : 1;
          end(isLost ? nothing : { code, report: parse(error instanceof GatewayError ? error.report : undefined) });
        },
      );
    });
  }

  /** The same request until it is answered by one of `ends`; undefined when it is given up. */
  async function insist(name: string, ends: readonly number[], call: (life: GatewayLife) => Promise<{ report?: string }>) {
    for (let tries = 0; tries < maxTries; tries += 1) {
      // Some amounts fail anew with each attempt, for ever.
      if (isClosing && tries > maxTriesAfterClosing) break;
      const answer = await ask(call);
      shop.trace(`erp ${name} ${answer.code}`);
      if (answer.code !== undefined && ends.includes(answer.code)) return answer;
      if (answer.code !== undefined && ![1, 2, 3, 30, 31, 41].includes(answer.code)) {
        shop.violated(`${name} was answered ${answer.code}, which it cannot be`);
        return undefined;
      }
      await pause(between(500, Math.min(60_000, 2_000 * (tries + 1))));
    }
    counts.givenUp += 1;
    return undefined;
  }

  const chargesOf = (documentNr: string) =>
    shop.devices.flatMap(({ device }) => device.bank.charges()).filter(({ entry }) => entry.documentNr === documentNr);

  async function sell(target: ShopDevice): Promise<void> {
    counts.sales += 1;
    const documentNr = random.uuid();
    const bani = amountBani();
    const call = { merchantId, deviceId: target.id };
    const pay = (life: GatewayLife) => life.cards.pay({ ...call, amountBani: bani, documentNr });
    // A proxy that repeats, and a customer who changes his mind.
    if (chance(0.1)) void ask(pay);
    const aborting = chance(0.05) ? abortLater(target, documentNr, bani) : undefined;
    const isPatient = chance(0.9);
    let paid: Answer | undefined;
    for (;;) {
      paid = await insist(`pay ${documentNr}`, [0, 50, 30], pay);
      const isFailure = paid?.code === 50 || paid?.code === 30;
      if (isFailure && chargesOf(documentNr).some(({ isVoided }) => !isVoided))
        shop.violated(`Pay ${documentNr} was answered ${paid?.code}, and the bank has charged it`);
      if (paid?.code === 0 && chargesOf(documentNr).length !== 1)
        shop.violated(`Pay ${documentNr} was answered 0, and the bank has ${chargesOf(documentNr).length} charges`);
      // Refused or not reached: a new attempt under the same number, or none.
      if (!isFailure || !isPatient || isClosing || chance(0.5)) break;
      await pause(between(1_000, 20_000));
    }
    await aborting;
    if (paid?.code === 50) counts.refused += 1;
    if (paid?.code !== 0) return;
    counts.paid += 1;
    const operation = {
      ...call,
      documentNr,
      operationId: String(paid.report.operationId),
      rrn: String(paid.report.rrn),
      token: String(paid.report.token),
    };
    if (chance(0.1)) {
      await insist(`void ${documentNr}`, [0, 22, 50], (life) => life.cards.cancelTransaction({ ...operation, amountBani: bani }));
      return;
    }
    const closed = await insist(`close ${documentNr}`, [0, 22, 50], (life) => life.cards.closeDoc(operation));
    if (closed?.code === 0 && chance(0.15)) {
      const part = Math.max(1, Math.floor(bani * random.fraction()));
      const idempotency = { key: random.uuid(), requestHash: 'refund' };
      await insist(`refund ${documentNr}`, [0, 22, 40, 50], (life) =>
        life.cards.refund({ ...operation, amountBani: part, currency: undefined, idempotency }),
      );
    }
    if (closed?.code === 0 && chance(0.03)) {
      const idempotency = { key: random.uuid(), requestHash: 'day' };
      await insist('close day', [0, 50], (life) => life.cards.closeDay({ ...call, idempotency }));
    }
  }

  async function abortLater(target: ShopDevice, documentNr: string, bani: number): Promise<void> {
    await pause(between(500, 6_000));
    const call = { merchantId, deviceId: target.id, documentNr, operationId: 'none', token: 'none', amountBani: bani };
    const answer = await ask((life) => life.cards.cancelTransaction(call));
    shop.trace(`erp abort ${documentNr} ${answer.code}`);
    if (answer.code === 0 && chargesOf(documentNr).length > 0)
      shop.violated(`the abort of ${documentNr} was answered 0, and it was charged`);
  }

  async function useRegister(target: ShopDevice): Promise<void> {
    const call = { merchantId, deviceId: target.id, callbackUri: 'http://erp.example/?id=#OID#&state=#State#' };
    const idempotency = { key: random.uuid(), requestHash: 'fiscal' };
    const bani = amountBani();
    const dice = random.fraction();
    if (dice < 0.1) {
      await insist('cash in', [0, 50], (life) => life.fiscal.cashIn({ ...call, amountBani: bani, idempotency }));
    } else if (dice < 0.2) {
      await insist('cash out', [0, 50], (life) => life.fiscal.cashOut({ ...call, amountBani: bani, idempotency }));
    } else if (dice < 0.25) {
      await insist('report', [0, 50], (life) => life.fiscal.createReport({ ...call, isFiscal: dice < 0.22, idempotency }));
    } else {
      counts.sales += 1;
      const uid = random.uuid();
      const receipt = {
        Uid: uid,
        Items: [{ Name: 'Goods', Quantity: 1, Price: bani / 100 }],
        Payments: [{ PaymentCode: dice < 0.5 ? 1 : 0, Amount: bani / 100 }],
      };
      // A receipt may be sent to another register when the first gives no answer.
      const registers = shop.devices.filter(({ kind }) => kind === 'register');
      const printed = await insist(`print ${uid}`, [0, 50], (life) => {
        const deviceId = chance(0.1) ? (registers[between(0, registers.length)] as ShopDevice).id : target.id;
        return life.fiscal.printReceipt({ ...call, deviceId, receipt });
      });
      const documents = shop.devices
        .flatMap(({ device }) => device.fiscalMemory().documents())
        .filter((document) => document.type === 'receipt' && document.uid === uid);
      if (printed?.code === 0 && documents.length !== 1)
        shop.violated(`receipt ${uid} was answered 0 and printed ${documents.length} times`);
      if (printed?.code === 50 && documents.length > 0) shop.violated(`receipt ${uid} was answered 50 and printed`);
    }
  }

  async function till(target: ShopDevice): Promise<void> {
    await pause(between(1_000, 60_000));
    while (!isClosing) {
      const act = () => (target.kind === 'terminal' ? sell(target) : useRegister(target));
      // Now and then two act in the very same moment, which is where locks are needed.
      await (chance(0.1) ? Promise.all([act(), act()]) : act());
      await pause(between(1_000, 90_000));
    }
  }

  for (const target of shop.devices) {
    for (let count = 0; count < target.cashiers; count += 1) {
      working += 1;
      till(target)
        .catch((error: unknown) => shop.violated(`the ERP failed: ${String(error)}`))
        .finally(() => {
          working -= 1;
        });
    }
  }
  return {
    counts,
    close() {
      isClosing = true;
    },
    get isIdle() {
      return working === 0;
    },
  };
}

function parse(report: string | undefined): JsonObject {
  return report === undefined ? {} : (JSON.parse(report) as JsonObject);
}
