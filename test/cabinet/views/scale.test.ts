// `npm run cabinet-load` in small: every query of every page, on a month of many shops; none scans all commands, invoices,
// steps or callbacks. The same plans hold with a million rows; docs/operating.md has the figures.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fill } from '../../../scripts/cabinet-load/fill.ts';
import { questionsOf } from '../../../scripts/cabinet-load/questions.ts';
import { engines, openNewDatabase, type TestDatabase } from '../../support/engines.ts';
import { allPlans } from './plans.ts';

const endMs = Date.UTC(2026, 10, 12, 14);
const big = 'commands|c|r|p';
const others = 'invoices|i|callbacks|k|command_events|callback_attempts|invoice_events|e';
/** Full table scans. An index scan in the order of a limit is allowed. */
const scans = {
  sqlite: new RegExp(`SCAN (${big}|${others})\\b(?! USING (COVERING )?INDEX)`),
  postgres: new RegExp(`Seq Scan on (${big}|${others})\\b`),
};

describe.each(engines)('the cabinet on a month of work on %s', (engine) => {
  let database: TestDatabase;
  let questions: ReturnType<typeof questionsOf>;
  beforeAll(async () => {
    database = await openNewDatabase(engine);
    questions = questionsOf(database, await fill(database, 20_000, endMs));
  }, 120_000);
  afterAll(() => database.close());

  it('scans no large table completely, for any query', async () => {
    const found: string[] = [];
    expect(questions.length).toBeGreaterThan(100);
    for (const { name, ask } of questions) {
      for (const { statement, plan } of await allPlans(database, ask))
        if (scans[engine].test(plan)) found.push(`${name}: ${statement.slice(0, 300)} ... ${scans[engine].exec(plan)?.[0]}`);
    }
    expect(found).toEqual([]);
  }, 120_000);
});
