// Run as a process of its own, to be killed: it writes callbacks and either stops right after the commit or has an attempt in flight.
// Arguments: JSON { place, merchantId, url, subjectId, work }.
import { randomUUID } from 'node:crypto';
import { enqueueCallback } from '../../src/callbacks/outbox.ts';
import { openDatabase } from '../../src/database/open.ts';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { callbacksOn } from './harness.ts';

const { place, merchantId, url, subjectId, work } = JSON.parse(process.argv[2] ?? '{}');
const database = await openDatabase({ ...place, role: 'gateway', clock: systemClock, logger: quietLogger });
const callbacks = callbacksOn(database, { instanceId: `child ${randomUUID()}`, limits: { leaseMs: 1_500, attemptTimeoutMs: 1_400 } });
if (work === 'send') callbacks.start();
await database.transaction(async (queries) => {
  await enqueueCallback(queries, { random: systemRandom }, { merchantId, subjectKind: 'invoice', subjectId, sequence: 1, url });
});
if (work === 'send') callbacks.wake();
process.stdout.write('committed\n');
systemClock.after(60_000, () => {});
