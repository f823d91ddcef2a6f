// The event stream over a real socket: it starts, sends events, and ends at once with its session.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { nowMs } from '../../../src/database/dialect.ts';
import { seedCommand, seedDevice } from '../../support/fixtures.ts';
import { until } from '../../support/until.ts';
import { openBrowser } from '../browser.ts';
import { adminToken, openCabinet, type RunningCabinet } from '../running-cabinet.ts';

let cabinet: RunningCabinet;
beforeEach(async () => {
  cabinet = await openCabinet('sqlite');
});
afterEach(() => cabinet.close());

async function stream(headers: Record<string, string>): Promise<{ status: number; text: () => string; ended: Promise<void> }> {
  const response = await fetch(`${cabinet.url}/cabinet/api/events`, { headers });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const ended = (async () => {
    for (;;) {
      const part = await reader?.read();
      if (!part || part.done) return;
      text += part.value;
    }
  })().catch(() => {});
  return { status: response.status, text: () => text, ended };
}

it('sends events, and nothing to a client without a login', async () => {
  expect((await stream({})).status).toBe(401);
  const merchantId = String((await cabinet.post('/merchants', { name: 'Corner shop' })).id);
  const device = await seedDevice(cabinet.database.queries, merchantId);
  const { id } = await seedCommand(cabinet.database.queries, merchantId, device.id);
  const live = await stream({ authorization: `Bearer ${adminToken}` });
  await until(() => live.text().includes('event: hello'));
  await until(async () => {
    await cabinet.database.queries
      .insertInto('command_events')
      .values({ command_id: id, at: nowMs, step: 'settled', channel: null, detail: null })
      .execute();
    return live.text().includes(id);
  });
  expect(live.text()).toMatch(/event: hint\ndata: \{"kind":"command","id":"[0-9a-f-]{36}","version":\d+\}\n\n/);
});

it('ends at once with its session, and shows a merchant nothing of another', async () => {
  const merchantId = String((await cabinet.post('/merchants', { name: 'Corner shop' })).id);
  const otherId = String((await cabinet.post('/merchants', { name: 'Other shop' })).id);
  const invited = await cabinet.post('/users', { name: 'Ana', email: 'ana@shop.md', role: 'merchant', merchantId });
  const browser = openBrowser(cabinet.url);
  await browser.post('/links/use', { token: String(invited.link).split('#')[1], password: 'a long and quiet evening' });
  expect(browser.cookie).toBeDefined();
  const live = await stream({ cookie: `tillgate_session=${browser.cookie}` });
  expect(live.status).toBe(200);
  const ids: string[] = [];
  for (const owner of [otherId, merchantId]) {
    const device = await seedDevice(cabinet.database.queries, owner);
    ids.push((await seedCommand(cabinet.database.queries, owner, device.id)).id);
  }
  await until(async () => {
    for (const id of ids) {
      await cabinet.database.queries
        .insertInto('command_events')
        .values({ command_id: id, at: nowMs, step: 'settled', channel: null, detail: null })
        .execute();
    }
    return live.text().includes(ids[1] ?? '');
  });
  expect(live.text()).not.toContain(ids[0]);
  await browser.delete('/session');
  await live.ended;
});
