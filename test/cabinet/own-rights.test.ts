// What a session may not do by a detour: a viewer gets no QR that could be scanned, and a merchant's user names no DeviceID.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { engines } from '../support/engines.ts';
import { useQuickPasswords } from '../support/quick-passwords.ts';
import { type Browser, openBrowser } from './browser.ts';
import { openCabinet, type RunningCabinet } from './running-cabinet.ts';

useQuickPasswords();

describe.each(engines)('a session on %s', (engine) => {
  let cabinet: RunningCabinet;
  let merchantId: string;
  beforeEach(async () => {
    cabinet = await openCabinet(engine);
    merchantId = String((await cabinet.post('/merchants', { name: 'Corner shop' })).id);
  });
  afterEach(() => cabinet.close());

  async function settle(wanted: object): Promise<Browser> {
    const invited = await cabinet.post('/users', { name: 'Somebody', ...wanted });
    const browser = openBrowser(cabinet.url);
    const token = String(invited['link']).split('#')[1];
    expect(await browser.post('/links/use', { token, password: 'bread and butter' })).toMatchObject({ errorCode: 0 });
    return browser;
  }

  it('shows the QR of an invoice only to roles that may charge', async () => {
    const receipt = { Items: [{ Name: 'Bread', Quantity: 1, Price: 10 }] };
    const { oid, qr } = await cabinet.invoices.create({ merchantId, receipt });
    const seen = async (wanted: object) => {
      const page = await (await settle(wanted)).get(`/invoices/${oid}`);
      expect(page).toMatchObject({ errorCode: 0, invoice: { oid } });
      return [page['qr'], page['qrImage'], JSON.stringify(page).includes(qr)];
    };
    expect(await seen({ role: 'operator', email: 'olga@tillgate.md' })).toEqual([qr, `/qr/${qr}.svg`, true]);
    expect(await seen({ role: 'merchant', email: 'ana@shop.md', merchantId })).toEqual([qr, `/qr/${qr}.svg`, true]);
    expect(await seen({ role: 'viewer', email: 'eve@shop.md', merchantId })).toEqual([undefined, undefined, false]);
    expect(await seen({ role: 'viewer', email: 'eve@audit.md', allMerchants: true })).toEqual([undefined, undefined, false]);
  });

  it('of a merchant names no DeviceID, so it neither learns which are taken nor takes one before its owner', async () => {
    const other = String((await cabinet.post('/merchants', { name: 'Other shop' })).id);
    const ana = await settle({ role: 'merchant', email: 'ana@shop.md', merchantId });
    const olga = await settle({ role: 'operator', email: 'olga@tillgate.md' });
    const terminal = { merchantId, kind: 'terminal', name: 'Till' };
    const taken = String((await cabinet.post('/devices', { ...terminal, merchantId: other }))['id']);
    const free = 'b4c7b0f6-3f5e-4f0e-9a51-5d2f8e7c1a90';
    const [one, two] = [await ana.post('/devices', { ...terminal, id: taken }), await ana.post('/devices', { ...terminal, id: free })];
    expect(one).toMatchObject({ errorCode: 40, errorMessage: expect.stringContaining('id must be absent') });
    expect(two).toEqual(one);
    expect(await ana.post('/devices', terminal)).toMatchObject({ errorCode: 0, id: expect.any(String), pairingCode: expect.any(String) });
    // An operator moves devices that have an id already, and sees all merchants.
    expect(await olga.post('/devices', { ...terminal, id: free })).toMatchObject({ errorCode: 0, id: free });
    expect(await olga.post('/devices', { ...terminal, id: taken })).toMatchObject({ errorCode: 22 });
  });
});
