// The signing secret of a merchant: rotated with an overlap in which every callback has both signatures, and checked by a test callback.
import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimDue } from '../../src/callbacks/store.ts';
import { type Erp, startErp } from '../callbacks/erp.ts';
import { engines } from '../support/engines.ts';
import { seedCallback } from '../support/fixtures.ts';
import { openCabinet, type RunningCabinet } from './running-cabinet.ts';

const dayMs = 24 * 3_600_000;

describe.each(engines)('signing on %s', (engine) => {
  let cabinet: RunningCabinet;
  let erp: Erp;
  let merchantId: string;
  let first: string;
  beforeEach(async () => {
    cabinet = await openCabinet(engine, { allow: ['127.0.0.0/8'] });
    erp = await startErp();
    const merchant = await cabinet.post('/merchants', { name: 'Corner shop' });
    merchantId = String(merchant.id);
    first = String(merchant.callbackSecret);
  });
  afterEach(async () => {
    await erp.close();
    await cabinet.close();
  });

  const rotate = (body?: object) => cabinet.post(`/merchants/${merchantId}/secret`, body);
  const test = (url = `${erp.base}/cb?oid=#OID#&state=#State#`) => cabinet.post(`/merchants/${merchantId}/test-callback`, { url });
  /** The secrets with which a claimed callback is signed. */
  async function claimed(): Promise<string[]> {
    await seedCallback(cabinet.database.queries, merchantId);
    const claim = { engine, host: 'erp.example', instanceId: 'cabinet', leaseMs: 60_000, limit: 1 };
    const [callback] = await claimDue(cabinet.database.queries, claim);
    return callback?.secrets ?? [];
  }
  function signaturesBy(secrets: string[], heard = erp.heard.at(-1)): string {
    const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'tillgate-sequence': sequence } = heard?.headers ?? {};
    return secrets
      .map((secret) => createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64')))
      .map(
        (mac) =>
          `v1,${mac.update(`${String(id)}.${String(timestamp)}.${String(sequence)}.${erp.base}${heard?.url ?? ''}`).digest('base64')}`,
      )
      .join(' ');
  }

  it('signs with the new secret and with the old one until the overlap is over', async () => {
    const answer = await rotate();
    const second = String(answer.secret);
    expect(second).toMatch(/^whsec_/);
    expect(second).not.toBe(first);
    expect(await claimed()).toEqual([second, first]);
    expect(await test()).toMatchObject({ errorCode: 0, isDelivered: true, status: 200 });
    expect(erp.heard.at(-1)?.headers['webhook-signature']).toBe(signaturesBy([second, first]));
    cabinet.database.shiftClock(dayMs + 1_000);
    expect(await claimed()).toEqual([second]);
    expect(await test()).toMatchObject({ errorCode: 0 });
    expect(erp.heard.at(-1)?.headers['webhook-signature']).toBe(signaturesBy([second]));
  });

  it('keeps the secret of the ERP when a rotation is repeated because its answer was lost', async () => {
    await rotate();
    const { secret: third } = await rotate();
    const signing = await claimed();
    expect(signing).toHaveLength(3);
    expect(signing[0]).toBe(third);
    expect(signing[2]).toBe(first);
  });

  it('ends all earlier secrets at once with overlapS 0, and keeps no more than four of them', async () => {
    for (let count = 0; count < 4; count += 1) expect(await rotate({ overlapS: 600 })).toMatchObject({ errorCode: 0 });
    const before = await claimed();
    expect(before).toHaveLength(5);
    const refused = await rotate({ overlapS: 600 });
    expect(refused).toMatchObject({ errorCode: 22 });
    expect(refused.errorMessage).toContain('overlapS 0');
    expect(await claimed()).toEqual(before);
    const { secret } = await rotate({ overlapS: 0 });
    expect(await claimed()).toEqual([secret]);
    expect(await rotate({ overlapS: 600 })).toMatchObject({ errorCode: 0 });
  });

  it('does not extend the overlap of an earlier secret', async () => {
    await rotate({ overlapS: 600 });
    await rotate({ overlapS: 3_600 });
    cabinet.database.shiftClock(601_000);
    expect(await claimed()).toHaveLength(2);
    expect(await claimed()).not.toContain(first);
  });

  it('keeps both secrets of two concurrent rotations', async () => {
    const both = await Promise.all([rotate(), rotate()]);
    const signing = await claimed();
    expect(signing).toHaveLength(3);
    for (const { secret } of both) expect(signing).toContain(secret);
    expect(signing).toContain(first);
  });

  it('shows no secret anywhere else, and records rotation and test in the audit log', async () => {
    const { secret } = await rotate();
    await test(`${erp.base.replace('http://', 'http://erp:canary-password@')}/cb`);
    expect((await cabinet.audit()).slice(1)).toEqual(['merchant.secret', 'callback.test']);
    const seen = JSON.stringify([await cabinet.get('/merchants'), await cabinet.get('/audit'), cabinet.logger.lines]);
    for (const hidden of [first, String(secret), 'canary-password']) expect(seen).not.toContain(hidden);
    expect(await cabinet.post('/merchants/3b241101-e2bb-4255-8caf-4136c566a962/secret')).toMatchObject({ errorCode: 20 });
  });

  it('sends one test callback with placeholder values, and returns the response', async () => {
    const answer = await test();
    expect(answer).toMatchObject({ isDelivered: true, status: 200, responseHead: 'ok' });
    expect(erp.heard.at(-1)?.url).toBe('/cb?oid=00000000-0000-0000-0000-000000000000&state=Test');
    expect(erp.heard.at(-1)?.headers).toMatchObject({ 'webhook-id': answer.id, 'tillgate-sequence': '0' });
    expect((await cabinet.get('/callbacks')).callbacks).toEqual([]);
    expect(await test('http://127.0.0.1:1/')).toMatchObject({
      errorCode: 0,
      isDelivered: false,
      error: expect.stringContaining('ECONNREFUSED'),
    });
    expect(await test('http://10.0.0.1/')).toMatchObject({ errorCode: 0, isDelivered: false, error: expect.stringContaining('10.0.0.1') });
    for (const url of ['ftp://x', 'erp.example', 'http://x/#Amount#']) {
      const { errorCode, errorMessage } = await test(url);
      expect([errorCode, errorMessage], url).toEqual([40, expect.stringMatching(/^Invalid_Request: url (must|may contain only)/)]);
    }
  });

  it('limits test callbacks: one at a time and a few a minute', async () => {
    const many = await Promise.all([test(), test(), test()]);
    expect(many.filter(({ errorCode }) => errorCode === 0).length).toBeGreaterThanOrEqual(1);
    let refused = 0;
    for (let count = 0; count < 10; count += 1) if ((await test()).errorCode === 41) refused += 1;
    expect(refused).toBeGreaterThan(3);
    expect(erp.heard.length).toBeLessThan(9);
  });
});
