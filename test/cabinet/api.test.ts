// The cabinet API over HTTP: its calls, the secrets it hides, and the audit log entry of every change.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nowMs } from '../../src/database/dialect.ts';
import { engines } from '../support/engines.ts';
import { seedCallback, seedCommand, seedDevice, seedInvoice } from '../support/fixtures.ts';
import { openCabinet, type RunningCabinet } from './running-cabinet.ts';

const nobody = '3b241101-e2bb-4255-8caf-4136c566a962';

describe.each(engines)('the cabinet API on %s', (engine) => {
  let cabinet: RunningCabinet;
  let merchantId: string;
  beforeEach(async () => {
    cabinet = await openCabinet(engine);
    merchantId = String((await cabinet.post('/merchants', { name: 'Corner shop' })).id);
  });
  afterEach(() => cabinet.close());

  it('refuses callers without the token, and changes nothing', async () => {
    for (const token of ['', 'wrong', 'canary-admin-token-of-the-offic']) {
      expect(await cabinet.post('/merchants', { name: 'Intruder' }, token)).toMatchObject({ status: 401, errorCode: 10 });
      expect(await cabinet.get('/keys', token)).toMatchObject({ status: 401, errorCode: 10 });
    }
    expect((await cabinet.get('/merchants')).merchants).toMatchObject([{ id: merchantId, name: 'Corner shop' }]);
    expect(await cabinet.audit()).toEqual(['merchant.create']);
  });

  it('creates, rotates and revokes keys for their modules', async () => {
    const created = await cabinet.post('/keys', { merchantId, name: 'ERP', modules: ['POS'], expiresAt: '2099-01-01T00:00:00Z' });
    expect(created).toMatchObject({ errorCode: 0, errorMessage: '', expiresAt: '2099-01-01T00:00:00.000Z' });
    const status = async (key: unknown) =>
      (await (await fetch(`${cabinet.url}/Device/Device/Status?APIKey=${String(key)}&DeviceID=x`)).json()) as { errorCode: number };
    expect(await status(created.key)).toMatchObject({ errorCode: 30 });
    expect(await status('')).toMatchObject({ errorCode: 10 });
    expect(await status('no-uuid')).toMatchObject({ errorCode: 10 });
    expect(await status(nobody)).toMatchObject({ errorCode: 10 });
    const qrOnly = await cabinet.post('/keys', { merchantId, name: 'QR', modules: ['QR'] });
    expect(await status(qrOnly.key)).toMatchObject({ errorCode: 11 });

    const rotated = await cabinet.post(`/keys/${String(created.id)}/rotate`, { overlapS: 0 });
    expect(await status(created.key)).toMatchObject({ errorCode: 10 });
    expect(await status(rotated.key)).toMatchObject({ errorCode: 30 });
    expect(await cabinet.post(`/keys/${String(rotated.id)}/revoke`)).toMatchObject({ errorCode: 0, revokedAt: expect.any(String) });
    expect(await status(rotated.key)).toMatchObject({ errorCode: 10 });
    expect(await cabinet.post(`/keys/${String(rotated.id)}/rotate`)).toMatchObject({ errorCode: 22 });
    expect(await cabinet.post(`/keys/${nobody}/revoke`)).toMatchObject({ errorCode: 20, status: 200 });

    const { keys } = await cabinet.get(`/keys?merchantId=${merchantId}`);
    expect((keys as { state: string }[]).map(({ state }) => state).sort()).toEqual(['active', 'expired', 'revoked']);
    expect((await cabinet.get(`/keys?merchantId=${nobody}`)).keys).toEqual([]);
    const listed = JSON.stringify([keys, await cabinet.get('/audit'), await cabinet.get('/merchants')]);
    for (const { key } of [created, rotated, qrOnly]) expect(listed).not.toContain(String(key));
    expect(listed).not.toContain('whsec_');
    expect(JSON.stringify(cabinet.logger.lines)).not.toContain(String(created.key));
  });

  it('names the invalid field of a request', async () => {
    const cases: [string, object, RegExp][] = [
      ['/merchants', {}, /name/],
      ['/merchants', { name: '' }, /name/],
      ['/keys', { merchantId: 'x', name: 'k', modules: ['POS'] }, /merchantId/],
      ['/keys', { merchantId, name: 'k', modules: [] }, /modules/],
      ['/keys', { merchantId, name: 'k', modules: ['Coffee'] }, /modules/],
      ['/keys', { merchantId, name: 'k', modules: ['POS'], expiresAt: 'soon' }, /expiresAt/],
      ['/keys', { merchantId, name: 'k', modules: ['POS'], expiresAt: '2099-13-45T00:00:00Z' }, /expiresAt/],
      ['/keys', { merchantId, name: 'k', modules: ['POS'], expiresAt: '2001-01-01T00:00:00Z' }, /expiresAt/],
      ['/devices', { merchantId, kind: 'toaster', name: 'T' }, /kind/],
      ['/devices', { merchantId, kind: 'terminal', name: 'T', bank: 'nine' }, /bank.*one/],
      ['/devices', { merchantId, kind: 'register', name: 'T', bank: 'one' }, /bank/],
      ['/callbacks/resend', { merchantId, from: '2026-02-01T00:00:00Z', to: '2026-01-01T00:00:00Z' }, /from/],
    ];
    for (const [path, body, field] of cases) {
      const answer = await cabinet.post(path, body);
      expect(answer, JSON.stringify(body)).toMatchObject({ errorCode: 40, status: 400 });
      expect(answer.errorMessage).toMatch(field);
    }
    expect(await cabinet.audit()).toEqual(['merchant.create']);
  });

  it('registers, pairs, renames, disables and enables a device', async () => {
    const created = await cabinet.post('/devices', { merchantId, kind: 'terminal', name: 'Till 1', bank: 'one' });
    const pair = async () => {
      const response = await fetch(`${cabinet.url}/pairing`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ code: created.pairingCode }),
      });
      return (await response.json()) as Record<string, unknown>;
    };
    const paired = await pair();
    expect(paired).toMatchObject({
      errorCode: 0,
      deviceId: created.id,
      mqtt: { clientId: created.id, topics: { answers: `tillgate/devices/${String(created.id)}/answers/{replyTo}` } },
      queue: { kind: 'rabbitmq', commandsQueue: `tillgate.device.${String(created.id)}` },
    });
    // Until the device has used the credential, the code can be exchanged again [D181].
    expect(await pair()).toMatchObject({ errorCode: 0, deviceId: created.id });

    const device = `/devices/${String(created.id)}`;
    await cabinet.post(`${device}/rename`, { name: 'Till 2' });
    const { devices, banks } = await cabinet.get(`/devices?merchantId=${merchantId}`);
    expect(devices).toMatchObject([{ id: created.id, name: 'Till 2', state: 'paired', liveOn: [], bank: 'one' }]);
    expect(banks).toEqual([{ code: 'one', name: 'Bank One' }]);
    const { secret } = await cabinet.post(`${device}/secret`);
    const code = await cabinet.post(`${device}/pairing`);
    await cabinet.post(`${device}/disable`);
    await cabinet.post(`${device}/enable`);
    for (const verb of ['disable', 'enable', 'secret', 'pairing']) {
      expect(await cabinet.post(`/devices/${nobody}/${verb}`)).toMatchObject({ errorCode: 20 });
    }
    expect(await cabinet.audit()).toEqual([
      'merchant.create',
      'device.create',
      'device.pairing-code',
      'device.pair',
      'device.pair',
      'device.rename',
      'device.secret',
      'device.pairing-code',
      'device.disable',
      'device.enable',
    ]);
    const seen = JSON.stringify([devices, await cabinet.get('/devices'), await cabinet.get('/audit'), cabinet.logger.lines]);
    for (const hidden of [paired.secret, secret, created.pairingCode, code.pairingCode]) expect(seen).not.toContain(String(hidden));
  });

  it('lists callbacks and resends dead ones, one by one and by period', async () => {
    const { queries } = cabinet.database;
    const ended = { state: 'dead', next_attempt_at: null, ended_at: Date.UTC(2026, 0, 3), attempts: 6 } as const;
    const one = await seedCallback(queries, merchantId, { ...ended, created_at: Date.UTC(2026, 0, 1) });
    const two = await seedCallback(queries, merchantId, { ...ended, created_at: Date.UTC(2026, 0, 2) });
    await queries
      .insertInto('callback_attempts')
      .values({ callback_id: one.id, attempt: 1, at: nowMs, status: 500, error: null, duration_ms: 12, response_head: 'no' })
      .execute();
    expect((await cabinet.get(`/callbacks?state=dead&merchantId=${merchantId}`)).callbacks).toMatchObject([{ id: two.id }, { id: one.id }]);
    expect((await cabinet.get(`/callbacks?state=dead&limit=1&before=${two.id}`)).callbacks).toMatchObject([{ id: one.id }]);
    expect((await cabinet.get(`/callbacks?merchantId=${nobody}`)).callbacks).toEqual([]);
    expect(await cabinet.get('/callbacks?state=lost')).toMatchObject({ errorCode: 40 });
    expect(await cabinet.get(`/callbacks/${one.id}`)).toMatchObject({
      callback: { id: one.id, state: 'dead' },
      attempts: [{ attempt: 1, status: 500, durationMs: 12, responseHead: 'no' }],
    });
    expect(await cabinet.get(`/callbacks/${nobody}`)).toMatchObject({ errorCode: 20 });

    expect(await cabinet.post(`/callbacks/${one.id}/resend`)).toMatchObject({ errorCode: 0 });
    expect(await cabinet.get(`/callbacks/${one.id}`)).toMatchObject({ callback: { state: 'pending' } });
    expect(await cabinet.post(`/callbacks/${nobody}/resend`)).toMatchObject({ errorCode: 20 });
    const span = { merchantId, from: '2026-01-01T00:00:00Z', to: '2026-01-03T00:00:00Z' };
    expect(await cabinet.post('/callbacks/resend', span)).toMatchObject({ count: 1 });
    expect(await cabinet.get(`/callbacks/${two.id}`)).toMatchObject({ callback: { state: 'pending' } });
    expect((await cabinet.audit()).slice(1)).toEqual(['callback.resend', 'callback.resend-range']);
  });

  it('shows the timeline of an invoice, cancels an unpaid one once, and lists orphans', async () => {
    const { queries } = cabinet.database;
    const device = await seedDevice(queries, merchantId);
    const { oid } = await seedInvoice(queries, merchantId, { callback_uri: 'http://erp:canary-password@erp.example/?s=#State#' });
    const command = await seedCommand(queries, merchantId, device.id, { document_nr: oid });
    await queries
      .insertInto('command_events')
      .values({ command_id: command.id, at: nowMs, step: 'sent', channel: 'mqtt', detail: null })
      .execute();
    await queries
      .insertInto('orphan_payments')
      .values({ merchant_id: merchantId, oid, receipt_id: 'R1', device_id: device.id, reason: 'late', at: nowMs })
      .execute();
    expect((await cabinet.get(`/orphans?merchantId=${merchantId}`)).orphans).toMatchObject([{ oid, receiptId: 'R1', reason: 'late' }]);
    expect((await cabinet.get(`/orphans?merchantId=${nobody}`)).orphans).toEqual([]);

    expect(await cabinet.post(`/invoices/${oid}/cancel`, { reason: 'customer left' })).toMatchObject({ errorCode: 0 });
    expect(await cabinet.post(`/invoices/${oid}/cancel`)).toMatchObject({ errorCode: 22 });
    expect(await cabinet.post(`/invoices/${nobody}/cancel`)).toMatchObject({ errorCode: 20 });
    expect((await cabinet.audit()).slice(1)).toEqual(['invoice.cancel']);

    const { invoice, timeline } = await cabinet.get(`/invoices/${oid.toUpperCase()}`);
    expect(invoice).toMatchObject({ oid, state: 'Cancelled' });
    const lines = (timeline as { kind: string }[]).map(({ kind }) => kind);
    expect(lines).toEqual(expect.arrayContaining(['related', 'invoiceNewItem', 'invoiceCancelled', 'callbackWaiting']));
    expect(await cabinet.get(`/invoices/${nobody}`)).toMatchObject({ errorCode: 20 });

    // The login in the callback URL is needed for the call, and never shown.
    expect(invoice).toMatchObject({ callbackUri: 'http://***@erp.example/?s=#State#' });
    const { callbacks: listed } = await cabinet.get(`/callbacks?subjectId=${oid}`);
    expect(listed).toMatchObject([{ url: 'http://***@erp.example/?s=Cancelled' }]);
    const [{ id }] = listed as [{ id: string }];
    const shown = JSON.stringify([invoice, timeline, listed, await cabinet.get(`/callbacks/${id}`)]);
    expect(shown).not.toContain('canary-password');
  });

  it('reports Expired for an overdue invoice that is cancelled before the sweep', async () => {
    const { oid } = await seedInvoice(cabinet.database.queries, merchantId, { valid_to: 1 });
    const { errorCode, errorMessage } = await cabinet.post(`/invoices/${oid}/cancel`);
    expect(errorCode).toBe(22);
    expect(errorMessage).toContain('The invoice is Expired;');
  });

  it('creates a new secret for new QRs, and records that in the audit log', async () => {
    await cabinet.invoices.start();
    expect(await cabinet.post('/qr-secrets', undefined, 'wrong')).toMatchObject({ status: 401 });
    expect(await cabinet.post('/qr-secrets')).toMatchObject({ errorCode: 0, id: 2 });
    expect((await cabinet.audit()).slice(1)).toEqual(['qr-secret.rotate']);
  });

  it('refuses a date that does not exist instead of using another day', async () => {
    const key = { merchantId, name: 'ERP', modules: ['QR'], expiresAt: '2031-02-30T00:00:00Z' };
    const { errorCode, errorMessage } = await cabinet.post('/keys', key);
    expect(errorCode).toBe(40);
    expect(errorMessage).toContain('expiresAt must be a date and time that exists');
  });
});
