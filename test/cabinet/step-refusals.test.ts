// Steps write their audit entry before anything is sent, so refused ones of a user are bounded: nobody fills the audit log with them.
import { describe, expect, it } from 'vitest';
import { deviceOffline } from '../../src/kernel/error-codes.ts';
import { engines } from '../support/engines.ts';
import { useQuickPasswords } from '../support/quick-passwords.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { openCabinet } from './running-cabinet.ts';

useQuickPasswords();

describe.each(engines)('refused steps on %s', (engine) => {
  it('of one user are bounded, those of an operator and of a colleague are not', async () => {
    const clock = createVirtualClock();
    const gate: { opens?: Promise<void> } = {};
    const closeDay = async () => {
      await gate.opens;
      throw deviceOffline();
    };
    const cabinet = await openCabinet(engine, { clock, closeDay });
    const merchantId = String((await cabinet.post('/merchants', { name: 'Corner shop' })).id);
    const device = String((await cabinet.post('/devices', { merchantId, kind: 'terminal', name: 'Till' }))['id']);
    const settle = async (email: string) => {
      const invited = await cabinet.post('/users', { name: 'Somebody', email, role: 'merchant', merchantId });
      const body = JSON.stringify({ token: String(invited['link']).split('#')[1], password: 'bread and butter' });
      const headers = { 'x-tillgate-request': '1', 'content-type': 'application/json' };
      const used = await fetch(`${cabinet.url}/cabinet/api/links/use`, { method: 'POST', headers, body });
      return {
        cookie: used.headers
          .getSetCookie()
          .map((one) => one.split(';')[0])
          .join('; '),
      };
    };
    let number = 0;
    const step = async (who: Record<string, string>) => {
      const headers = { 'x-tillgate-request': '1', 'idempotency-key': `step-${(number += 1)}`, ...who };
      const response = await fetch(`${cabinet.url}/cabinet/api/devices/${device}/closeDay`, { method: 'POST', headers });
      return ((await response.json()) as { errorCode: number }).errorCode;
    };
    const repeat = async (count: number, who: Record<string, string>) => {
      const codes = [];
      for (let at = 0; at < count; at += 1) codes.push(await step(who));
      return codes;
    };
    const [eve, ana] = [await settle('eve@shop.md'), await settle('ana@shop.md')];
    expect(await repeat(35, eve)).toEqual([...Array<number>(30).fill(30), ...Array<number>(5).fill(41)]);
    expect((await cabinet.audit()).filter((action) => action === 'device.close-day')).toHaveLength(30);
    expect(await repeat(1, ana)).toEqual([30]);
    const operator = { authorization: 'Bearer canary-admin-token-of-the-cabinet' };
    expect(await repeat(35, operator)).toEqual(Array<number>(35).fill(30));
    // Parallel ones gain little: eight of a user run at once.
    await clock.advance(120_000);
    const held = Promise.withResolvers<void>();
    gate.opens = held.promise;
    const parallel = Array.from({ length: 12 }, () => step(eve));
    await Promise.race(parallel);
    held.resolve();
    expect((await Promise.all(parallel)).sort((one, other) => one - other)).toEqual([
      ...Array<number>(8).fill(30),
      ...Array<number>(4).fill(41),
    ]);
    await cabinet.close();
  });
});
