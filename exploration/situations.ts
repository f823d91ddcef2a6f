// The situation of a state, for the shapes of events (shapes.ts).
import { invoiceStateOf } from './reading.ts';
import type { OpRow, Situation } from './shapes.ts';
import { merchantId, type State } from './world.ts';

export function situationOf({ ledger, live }: State): Situation {
  const ops = Object.values(ledger['commands'] ?? {}) as unknown as readonly OpRow[];
  const ofMerchant = ops.filter((op) => op['merchant_id'] === merchantId);
  const kinds = { document_nr: 'Pay', receipt_uid: 'PrintReceipt' } as const;
  return {
    op: (id) => ledger['commands']?.[id] as OpRow | undefined,
    under: (column, number) => ofMerchant.filter((op) => op[column] === number && op['name'] === kinds[column]),
    equal: (deviceId, hash) => ofMerchant.filter((op) => op['device_id'] === deviceId && op['request_hash'] === hash),
    numbered: (deviceId, operationId) =>
      ops.filter((op) => op['name'] === 'Pay' && op['device_id'] === deviceId && op['operation_id'] === operationId),
    followers: (paymentId) => ops.filter((op) => op['target_id'] === paymentId),
    lock: (deviceId) => ledger['device_locks']?.[deviceId],
    journal: (deviceId) => live[deviceId],
    invoice: (oid) => invoiceStateOf(ledger['invoices']?.[oid]),
    key: (key) => ledger['idempotency_keys']?.[`${merchantId} ${key}`],
  };
}
