// The table of situations that both clients are run through: what they send, how long they wait, and what they say in the end.
import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { apiKey, type CaseCall, type CaseResult, type Driver } from './drivers.ts';
import { type Seen, type Step, startScriptedServer } from './scripted-server.ts';

interface Case extends CaseCall {
  name: string;
  steps: Step[];
  expect: {
    outcome: CaseResult['outcome'];
    errorCode: number | null;
    requests: string[];
    pausesMs?: number[];
    OID?: string;
    report?: object;
    body?: object;
    query?: object;
  };
}

const cases = JSON.parse(readFileSync(new URL('../../clients/cases.json', import.meta.url), 'utf8')) as Case[];

const askNames = ['OID', 'documentNr', 'ReceiptUid', 'IdempotencyKey'];
const statusPath = '/Device/Operation/Status';

function shown({ method, path, query }: Seen): string {
  const by = path === statusPath ? ` by ${askNames.filter((name) => name in query).join()}` : '';
  return `${method} ${path}${by}`;
}

async function check(driver: Driver, one: Case): Promise<void> {
  const server = await startScriptedServer(one.steps);
  const pausesMs: number[] = [];
  try {
    const result = await driver.run(one, server.baseUrl, async (ms) => {
      pausesMs.push(Math.round(ms));
      await server.clientWaits();
    });
    const { outcome, errorCode, requests, ...further } = one.expect;
    expect({ outcome: result.outcome, errorCode: result.errorCode, requests: server.seen.map(shown) }).toEqual({
      outcome,
      errorCode,
      requests,
    });
    expect(server.left()).toEqual([]);
    if (further.pausesMs) expect(pausesMs).toEqual(further.pausesMs);
    if (further.OID) expect(result.OID).toBe(further.OID);
    if (further.report) expect(result.report).toEqual(further.report);
    checkRequests(server.seen, result, further);
  } finally {
    await server.stop();
  }
}

function checkRequests(seen: Seen[], result: CaseResult, wanted: { body?: object; query?: object }): void {
  for (const { headers, query, path } of seen) {
    expect(headers['x-api-key']).toBe(apiKey);
    expect(query).not.toHaveProperty('APIKey');
    if (path === statusPath && 'IdempotencyKey' in query && result.key !== null) expect(query['IdempotencyKey']).toBe(result.key);
    if (wanted.query) expect(query).toEqual(wanted.query);
  }
  const posts = seen.filter(({ method }) => method === 'POST');
  for (const { headers, body } of posts) {
    expect(headers['idempotency-key']).toBe(result.key);
    expect(body, 'the same bytes each time').toBe(posts[0]?.body);
    if (wanted.body) expect(JSON.parse(body)).toEqual(wanted.body);
  }
  // The key was told before the first send, and stays the call's.
  if (posts.length > 0) expect(result.toldKey).toBe(result.key);
}

/** The whole table, with one client. */
export function describeCases(name: string, driver: Driver): void {
  describe(name, () => {
    afterAll(() => driver.stop());
    it.each(cases)('$name', (one) => check(driver, one));
  });
}
