// Measures the cost of indexes: commands are written and settled by the ledger's own statements, many in one transaction, so that the
// disk's commits do not hide the work.
import { performance } from 'node:perf_hooks';
import type { Database } from '../../src/database/database.ts';
import { systemRandom } from '../../src/kernel/system.ts';
import { insertWithin } from '../../src/ledger/insert-batch.ts';
import { settleWithin } from '../../src/ledger/settle-batch.ts';
import { closeDocument } from '../../src/ledger/store.ts';
import { deviceId, merchantId } from './fill.ts';

const perTransaction = 100;

export async function measureWrites(database: Database, count: number): Promise<string> {
  const startedMs = performance.now();
  for (let done = 0; done < count; done += perTransaction) {
    await database.transaction(async (queries) => {
      for (let index = 0; index < perTransaction; index += 1) await payOnce(database.engine, queries, done + index);
    });
  }
  const perSecond = (count * 1000) / (performance.now() - startedMs);
  return `${count} payments written and settled: ${Math.round(perSecond)} a second`;
}

async function payOnce(engine: Database['engine'], queries: Database['queries'], index: number): Promise<void> {
  const id = systemRandom.uuid();
  const command = await insertWithin(engine, queries, {
    id,
    merchantId: merchantId(0),
    deviceId: deviceId((index * 2) % 100),
    instanceId: 'load',
    name: 'Pay',
    args: { amount: '12.50' },
    answerWithinMs: 300_000,
    journalId: 'journal',
    amountBani: 1_250,
    documentNr: id,
    claims: { document: id },
    origin: { caller: 'key load', request: '{"method":"POST","path":"/Device/payment/Pay","body":{}}' },
  });
  if (!command) throw new Error('The device is not free.');
  const outcome = { state: 'done', by: 'answer', outcome: 'done', report: '{"amount":"12.50"}', reason: undefined } as const;
  await settleWithin(engine, queries, { command, settlement: { ...outcome, operationId: '000001', rrn: id.slice(0, 12) } });
  // The device is free again.
  await closeDocument(queries, id);
}
