// The bank's token of a payment authorizes a void: the device's report contains it, and the cabinet masks it everywhere.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { starredJson } from '../../src/cabinet/views/sale/starred.ts';
import { nowMs } from '../../src/database/dialect.ts';
import { seedCommand, seedDevice } from '../support/fixtures.ts';
import { openBrowser } from './browser.ts';
import { openCabinet, type RunningCabinet } from './running-cabinet.ts';

const token = 'CANARY-BANK-TOKEN';
const report = { rrn: '2', operationId: '1', amount: 10, token };

let cabinet: RunningCabinet;
let merchantId: string;
let id: string;
/** A payment whose terminal reported two different outcomes, each with a token. */
beforeEach(async () => {
  cabinet = await openCabinet('sqlite');
  merchantId = String((await cabinet.post('/merchants', { name: 'Corner shop' })).id);
  const { queries } = cabinet.database;
  const device = await seedDevice(queries, merchantId);
  const settled = {
    state: 'done',
    settled_at: Date.now(),
    settled_by: 'answer',
    operation_id: '1',
    rrn: '2',
    document_state: 'open',
  } as const;
  const review = { review_since: Date.now(), review_reason: 'A contradiction.' };
  ({ id } = await seedCommand(queries, merchantId, device.id, { ...settled, ...review, report: JSON.stringify(report) }));
  for (const step of ['contradiction', 'review', 'a step of a later version']) {
    const detail = JSON.stringify({ why: 'A second operation.', outcome: 'done', report: { ...report, operationId: '3' } });
    await queries.insertInto('command_events').values({ command_id: id, at: nowMs, step, channel: null, detail }).execute();
  }
});
afterEach(() => cabinet.close());

it('is masked on the review list and on the page of the sale with its timeline, and absent from lists', async () => {
  const invited = await cabinet.post('/users', { name: 'Vera', email: 'vera@shop.md', role: 'viewer', merchantId });
  const viewer = openBrowser(cabinet.url);
  await viewer.post('/links/use', { token: String(invited.link).split('#')[1], password: 'bread and butter' });
  const review = await viewer.get('/review');
  const [listed] = review['commands'] as { id: string; report: string }[];
  expect([listed?.id, JSON.parse(listed?.report ?? '')]).toEqual([id, { ...report, token: '***' }]);
  const page = await viewer.get(`/commands/${id}`);
  expect(page['raw']).toMatchObject({ report: { operationId: '1', token: '***' } });
  const details = (page['timeline'] as { kind: string; detail?: string }[]).filter(({ kind }) => ['contradiction', 'other'].includes(kind));
  expect(details.map(({ detail }) => JSON.parse(detail ?? '') as unknown)).toMatchObject([
    { report: { operationId: '3', token: '***' } },
    { report: { operationId: '3', token: '***' } },
  ]);
  const answers = [review, page];
  for (const path of ['/commands', '/attention', `/search?q=${id}`, '/audit']) answers.push(await viewer.get(path));
  expect(JSON.stringify(answers)).not.toContain(token);
});

it('is masked in the answer to a decision', async () => {
  const { command } = await cabinet.post(`/commands/${id}/decide`, { state: 'done', reason: 'Seen.', closesReview: true });
  expect(JSON.parse((command as { report: string }).report)).toEqual({ ...report, token: '***' });
});

it('is masked at any depth, and all other values are unchanged', () => {
  const text = `{"number":12345678901234567890,"token":"","list":[{"token":"${token}"},1,null],"in":{"token":"${token}","other":"token"}}`;
  expect(starredJson(text)).toBe(text.replaceAll(token, '***'));
  expect(starredJson('a sentence')).toBe('a sentence');
});
