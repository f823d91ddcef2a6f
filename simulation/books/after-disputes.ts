// A wrong decision of an operator leaves nothing behind [D143]: documents are open, closed or voided only by executed operations; every
// number is the bank's or the register's own; and the gateway's answers about a payment agree with the bank, to the ban.
import { errorCodes, GatewayError } from '../../src/kernel/error-codes.ts';
import { baniToLei } from '../../src/kernel/money.ts';
import type { DeviceAnswer } from '../../src/ledger/answers.ts';
import { operationStatus } from '../../src/ledger/operation-status.ts';
import { canSettleItself } from '../reviewer.ts';
import type { Shop } from '../shop.ts';
import { type ShopDevice, truthOf } from '../shop-devices.ts';
import type { BookedCommand, Books } from './booked.ts';

const wasDisputed = ({ disputedFrom }: BookedCommand) => disputedFrom !== null;

export function checkDocuments({ shop }: Books, target: ShopDevice, commands: readonly BookedCommand[]): void {
  for (const payment of commands.filter(({ name }) => name === 'Pay')) {
    const { id, state, documentState } = payment;
    const name = `Pay ${id} on ${target.name}`;
    if ((state === 'refused' || state === 'never') && documentState !== null)
      shop.violated(`${name} is ${state}, and its document is ${documentState}`);
    if (state !== 'done') continue;
    const own = commands.filter(({ targetId }) => targetId === id);
    const isDone = (follower: string) => own.some((command) => command.name === follower && command.state === 'done');
    if (documentState === 'voided' && !isDone('CancelTransaction')) shop.violated(`${name} is voided, and no void of it was done`);
    if (documentState === 'open' && isDone('CloseDoc')) shop.violated(`${name} was closed, and its document is open`);
    if (documentState === 'closed' && !isDone('CloseDoc') && !isExcused(shop, payment, own, commands))
      shop.violated(`${name} was not closed, and its document is closed`);
  }
}

/** Closed by hand, decided as done without its number [D308], or the terminal had started another operation when the dispute was resolved: the document stays closed. */
function isExcused(shop: Shop, payment: BookedCommand, own: readonly BookedCommand[], commands: readonly BookedCommand[]): boolean {
  const byHand = shop.storage.peek(`select 1 from audit_log where action = 'document.close' and subject = ?`, [payment.id]);
  if (byHand.length > 0 || shop.earlyOperator.wasCalledDone(payment.id)) return true;
  const resolvedAtMs = Math.max(...[payment, ...own].flatMap(({ id }) => resolvedAt(shop, id)));
  return commands.some(
    ({ id, issuedAtMs, targetId }) =>
      id !== payment.id && targetId !== payment.id && issuedAtMs > payment.issuedAtMs && issuedAtMs <= resolvedAtMs,
  );
}

/** In the new core, the date of the money does not move with a dispute [D303]. */
const resolvedAt = ({ storage }: Shop, id: string): number[] =>
  storage.peek(`select at from audit_log where action = 'resolved' and subject = ?`, [id]).map(({ at }) => Number(at));

/** Also of commands that an operator settled as done without them: the device has reported them since, if it can. */
export function checkNumbers({ shop }: Books, target: ShopDevice, commands: readonly BookedCommand[]): void {
  for (const command of commands.filter(({ state }) => state === 'done')) {
    const { isDone, entry } = truthOf(target, command);
    if (!isDone) continue;
    const document = target.device.fiscalMemory().find(command.id);
    const report = JSON.parse(command.report ?? '{}') as Record<string, string | number | undefined>;
    const pairs: [what: string, wanted: string | undefined, kept: string | number | null | undefined][] =
      command.name === 'Pay'
        ? [
            ['operationId', entry?.operationId, command.operationId],
            ['rrn', entry?.rrn, command.rrn],
            ['operationId of its report', entry?.operationId, report['operationId']],
          ]
        : document?.type === 'receipt'
          ? [['receiptId', document.receiptId, report['receiptId']]]
          : [];
    for (const [what, wanted, kept] of pairs) {
      const isMissing = kept === null || kept === undefined;
      if (isMissing ? canSettleItself(target, command) : String(kept) !== wanted)
        shop.violated(`${command.name} ${command.id} on ${target.name} has the ${what} ${kept} instead of ${wanted}`);
    }
  }
}

/** Of payments that were disputed, or whose CloseDoc, void or refund was. */
export async function checkStandings(books: Books, target: ShopDevice, commands: readonly BookedCommand[]): Promise<void> {
  const { shop } = books;
  const life = shop.fleet.anyLife();
  const disputed = new Set(commands.filter(wasDisputed).flatMap(({ id, targetId }) => [id, targetId]));
  for (const payment of commands.filter(({ id, name, state }) => name === 'Pay' && disputed.has(id) && state !== 'disputed')) {
    const own = commands.filter(({ targetId }) => targetId === payment.id);
    const isBeyondHelp = ({ id }: BookedCommand) => shop.earlyOperator.isBeyondHelp(id) || shop.earlyOperator.isDoneBeyondHelp(id);
    if (!life || [payment, ...own].some((command) => isBeyondHelp(command) || ['sent', 'unknown', 'disputed'].includes(command.state)))
      continue;
    const status = { merchantId: shop.merchantId, modules: new Set(['POS'] as const), oid: payment.id };
    const answered = await operationStatus(life, status).then(ofAnswer, ofError);
    const wanted = standingAtBank(target, payment);
    if (answered !== wanted)
      shop.violated(`the status of Pay ${payment.id} on ${target.name} is ${answered}, and by the bank's book ${wanted}`);
  }
}

const ofAnswer = ({ State, Remainder }: DeviceAnswer) => standing(0, State === 'Done' ? 'Closed' : State, Remainder);

function ofError(error: unknown): string {
  if (!(error instanceof GatewayError)) throw error;
  const { State } = error.fields as Pick<DeviceAnswer, 'State'>;
  return standing(errorCodes[error.errorName].code, State, undefined);
}

const standing = (code: number, state: string | undefined, remainder: number | undefined) =>
  `${code} ${state}${remainder === undefined ? '' : `, ${remainder} left`}`;

function standingAtBank({ device }: ShopDevice, payment: BookedCommand): string {
  const charge = device.bank.charges().find(({ entry }) => entry.reference === payment.id);
  if (!charge) return payment.state === 'never' ? '30 Never' : '50 Refused';
  const { isVoided, refundedBani, entry } = charge;
  if (isVoided) return '22 Voided';
  const remainder = refundedBani === 0 ? undefined : baniToLei(entry.amountBani - refundedBani);
  return standing(0, remainder === 0 ? 'Refunded' : 'Closed', remainder);
}
