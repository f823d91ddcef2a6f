// `tillgate doctor` on the ledger of the new core: beside a gateway it finds what does not follow from what happened, and says what to do. Before
// the switch it says nothing about the ledger.
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { diagnose } from '../../src/cli/doctor/doctor.ts';
import { judgeLedger } from '../../src/cli/doctor/ledger-check.ts';
import { migrateDatabase } from '../../src/database/open.ts';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import { choice } from '../../src/wiring/core-choice.ts';
import { serveSettings, temporaryDirectory } from '../support/gateway-process.ts';
import { quietLogger } from '../support/quiet-logger.ts';

const chosen = choice.core;
let dataDir: string;
beforeEach(async () => {
  dataDir = temporaryDirectory();
  await migrateDatabase({ dataDir, clock: systemClock, logger: quietLogger });
});
afterEach(() => {
  choice.core = chosen;
});

async function findings() {
  const environment = await serveSettings({ TILLGATE_DATA_DIR: dataDir });
  const all = await diagnose({ environment, url: undefined, clock: systemClock, random: systemRandom });
  return all.findings.filter(({ check }) => check === 'ledger');
}

function plantLock(): DatabaseSync {
  const database = new DatabaseSync(`${dataDir}/tillgate.db`);
  database.exec(`insert into merchants (id, name, callback_secret, created_at) values ('m', 'Shop', 'c2VjcmV0', 1);
    insert into devices (id, merchant_id, kind, name, created_at) values ('t1', 'm', 'terminal', 'T', 1);
    insert or replace into device_locks (device_id, document_id) values ('t1', 'gone')`);
  return database;
}

it('names the device whose lock follows from nothing, and what to do, while another connection is open', async () => {
  choice.core = 'new';
  expect(await findings()).toEqual([{ check: 'ledger', verdict: 'ok', says: expect.stringMatching(/^0 operations.* agree/) }]);
  const gateway = plantLock();
  const [found, ...more] = await findings();
  gateway.close();
  expect(found).toMatchObject({
    verdict: 'bad',
    says: expect.stringMatching(/device.* t1: stored gone/),
    advice: expect.stringMatching(/document by hand/),
  });
  expect(more).toEqual([]);
});

it('says nothing about the ledger of the old core', async () => {
  choice.core = 'old';
  plantLock().close();
  expect(await findings()).toEqual([]);
});

it('says that there are more', () => {
  const difference = { kind: 'standing', id: 'p1', stored: 'Done', derived: 'Voided' } as const;
  const found = judgeLedger({ operations: 1, devices: 0, invoices: 0, differences: [difference], isComplete: false });
  expect(found.map(({ says }) => says)).toEqual([
    'The state of operation p1: stored Done, computed Voided.',
    expect.stringMatching(/There are more/),
  ]);
});
