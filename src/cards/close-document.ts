// CloseDoc: ends the document of an approved payment and releases the terminal. A repeat gets the stored success, or retries a refusal
// [D16]. Nearly always the payment's document is open under the same documentNr, and the insert itself finds it [D103]. Other payments are
// looked up only if the insert found none and wrote nothing.
import { writeAudit } from '../access/audit.ts';
import { sameNumber } from '../kernel/ids.ts';
import { type DeviceAnswer, fieldsOf } from '../ledger/answers.ts';
import type { DeviceCall } from '../ledger/calls/device-call.ts';
import { lockDevice } from '../ledger/device-lock.ts';
import { requireKept } from '../ledger/removed.ts';
import { runOnDevice, runOnDeviceAtOnce } from '../ledger/run-on-device.ts';
import { wasDone } from '../ledger/standing.ts';
import { closeDocument } from '../ledger/store.ts';
import { addEvents } from '../ledger/timeline.ts';
import type { CardsDeps } from './cards-deps.ts';
import { cannotApply, noSuchOperation } from './rules.ts';
import { findCloseOf, findOperation, requireUndisputed } from './store.ts';

export interface CloseDocumentRequest extends DeviceCall {
  documentNr: string;
  operationId: string;
  /** The id of the payment, if the caller knows it. */
  paymentId?: string | undefined;
}

export async function closeDoc(deps: CardsDeps, request: CloseDocumentRequest): Promise<DeviceAnswer> {
  const { merchantId, deviceId, operationId } = request;
  const { queries } = deps.database;
  const documentNr = sameNumber(request.documentNr);
  const command = {
    name: 'CloseDoc',
    args: { documentNr, operationId },
    documentNr,
    operationId,
  } as const;
  const { paymentId } = request;
  const atOnce =
    paymentId === undefined &&
    (await runOnDeviceAtOnce(deps, 'terminal', request, () => ({ ...command, beside: 'the document it names' })));
  if (atOnce) return atOnce;
  const payment = await findOperation(queries, { paymentId, merchantId, deviceId, operationId, documentNr });
  if (payment) deps.ledger.outcomeDelivery.inferred(payment, request.origin?.caller);
  if (payment?.documentState === 'closed' && wasDone(payment) && !(await findCloseOf(queries, payment.id))) {
    // Closed by hand: there is no stored answer of the terminal, and nothing to do. The key of another request is 22.
    await deps.ledger.findByKey(request);
    const followers = await requireUndisputed(queries, payment);
    requireKept(payment, followers);
    return fieldsOf(payment, followers);
  }
  return runOnDevice(deps, 'terminal', request, {
    isKnownByContent: false,
    // An open document has no CloseDoc that is done, and a running CloseDoc locks the terminal.
    insertRejectsDuplicates: payment?.documentState === 'open',
    findEarlier: async (queries) => payment && findCloseOf(queries, payment.id),
    async plan() {
      if (!payment) throw noSuchOperation();
      const followers = await requireUndisputed(queries, payment);
      requireKept(payment, followers);
      if (payment.documentState === 'voided')
        throw cannotApply('The payment was voided, which ended its document.', fieldsOf(payment, followers));
      return {
        ...command,
        targetId: payment.id,
        beside: payment.documentState === 'open' ? 'its open document' : 'its document',
      };
    },
  });
}

/** An operator closes the document if the terminal cannot; the audit log keeps the reason. */
export async function closeDocumentByHand(deps: CardsDeps, request: { commandId: string; actor: string; reason: string }): Promise<void> {
  const payment = await deps.ledger.find(request.commandId);
  if (payment?.documentState == null) throw noSuchOperation();
  const isClosed = await deps.database.transaction(async (queries) => {
    await lockDevice(deps.database.engine, queries, payment.deviceId);
    if (!(await closeDocument(queries, payment.id))) return false;
    const { actor, reason } = request;
    const { id: subject, merchantId } = payment;
    await writeAudit(queries, { actor, action: 'document.close', subject, merchantId, detail: { reason } });
    const event = { commandId: subject, atMs: deps.clock.now(), step: 'closed by hand', detail: `${actor}: ${reason}` };
    await addEvents({ engine: deps.database.engine, queries }, [event]);
    return true;
  });
  if (!isClosed) throw cannotApply('The document of this payment is not open.');
}
