// Accounts with one e-mail in several merchants: a merchant who invites an address learns and gains nothing by it.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { totpCode } from '../../src/access/people/totp.ts';
import { engines } from '../support/engines.ts';
import { useQuickPasswords } from '../support/quick-passwords.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';
import { type Answer, type Browser, openBrowser } from './browser.ts';
import { openCabinet, type RunningCabinet } from './running-cabinet.ts';

const email = 'olga@tillgate.md';
const hers = 'the password of olga';
const tokenOf = (answer: Record<string, unknown>) => String(answer['link']).split('#')[1] ?? '';
const roleOf = (answer: Answer) => (answer['user'] as { role: string } | undefined)?.role ?? answer.errorCode;

useQuickPasswords();

describe.each(engines)('an operator whose address the owner of a merchant invites, on %s', (engine) => {
  let clock: VirtualClock;
  let cabinet: RunningCabinet;
  let merchantId: string;
  let olga: Browser;
  let eve: Browser;
  const failed: string[] = [];

  beforeEach(async () => {
    failed.length = 0;
    clock = createVirtualClock();
    cabinet = await openCabinet(engine, { clock, onFailedLogin: (wrong) => failed.push(wrong.email) });
    merchantId = String((await cabinet.post('/merchants', { name: 'Corner shop' })).id);
    olga = await join(await cabinet.post('/users', { email, name: 'Olga', role: 'operator' }), hers);
    eve = await join(
      await cabinet.post('/users', { email: 'eve@shop.md', name: 'Eve', role: 'merchant', merchantId }),
      'the password of eve',
    );
  });
  afterEach(() => cabinet.close());

  async function join(invited: Record<string, unknown>, password: string): Promise<Browser & { id: string }> {
    const browser = openBrowser(cabinet.url);
    const used = await browser.post('/links/use', { token: tokenOf(invited), password });
    expect(used).toMatchObject({ errorCode: 0 });
    return Object.assign(browser, { id: (used['user'] as { id: string }).id });
  }
  /** Eve's account with Olga's address. */
  const double = async (password: string) => join(await eve.post('/users', { email, name: 'Olga', role: 'viewer' }), password);
  const signIn = (password: string, browser = openBrowser(cabinet.url), more: object = {}) =>
    browser.post('/session', { email, password, ...more });
  const repeat = async (count: number, work: () => Promise<Answer>) => {
    const seen = [];
    for (let at = 0; at < count; at += 1) seen.push(roleOf(await work()));
    return seen;
  };

  it.each(['a new browser', 'the known browser of that account', 'an account made anew'])(
    'has as few guesses made from %s as from elsewhere, and each is noted',
    async (where) => {
      const guesser = await double('not the password');
      const from = () => (where === 'a new browser' ? openBrowser(cabinet.url) : guesser);
      expect(await repeat(10, () => signIn('not the password', from()))).toEqual(Array<string>(10).fill('viewer'));
      expect(failed).toEqual(Array<string>(10).fill(email));
      let trier = guesser;
      if (where === 'an account made anew') {
        await eve.delete(`/users/${guesser.id}`);
        trier = await double(hers);
      } else await guesser.post('/me/password', { current: 'not the password', next: hers });
      // The eleventh guess is right, and opens only the guesser's own account.
      const eleventh = await signIn(hers, where === 'a new browser' ? openBrowser(cabinet.url) : trier);
      expect(roleOf(eleventh)).toBe('viewer');
      // Her own browser is not delayed by it.
      expect(roleOf(await signIn(hers, olga))).toBe('operator');
      await clock.advance(60_000);
      expect(roleOf(await signIn(hers))).toBe('operator');
    },
  );

  it('has as few of her codes guessed from the known browser of that account as from elsewhere', async () => {
    const { secret } = (await olga.post('/me/totp')) as unknown as { secret: string };
    const code = () => totpCode(secret, Math.floor(clock.now() / 30_000));
    await olga.post('/me/totp/confirm', { code: code() });
    await clock.advance(30_000);
    for (const round of [1, 2]) {
      const guesser = await double(`not the password ${round}`);
      await repeat(10, () => signIn(hers, guesser, { code: '000000' }));
      await eve.delete(`/users/${guesser.id}`);
    }
    const last = await double('not the password 3');
    expect(roleOf(await signIn(hers, last, { code: code() }))).toBe(10);
    await clock.advance(60_000);
    expect(roleOf(await signIn(hers, last, { code: code() }))).toBe('operator');
  });

  it('does not show by a refusal whether the address has another account', async () => {
    const seen: unknown[] = [];
    for (const address of [email, 'nobody@shop.md']) {
      const trace = [];
      const invited = () => eve.post('/users', { email: address, name: 'Somebody', role: 'viewer' });
      const try1 = (password: string, browser = openBrowser(cabinet.url)) =>
        browser
          .post('/session', { email: address, password })
          .then(({ status, errorCode, errorMessage }) => ({ status, errorCode, errorMessage }));
      const first = await join(await invited(), 'not the password');
      for (let at = 0; at < 12; at += 1) trace.push(await try1('not the password', at % 2 === 0 ? first : undefined));
      await eve.delete(`/users/${first.id}`);
      trace.push(await try1('not the password'));
      const second = await join(await invited(), 'not the password');
      for (let at = 0; at < 12; at += 1) trace.push(await try1('wrong password', second));
      for (let at = 0; at < 12; at += 1) trace.push(await try1('wrong password'));
      trace.push(await try1('not the password'));
      seen.push(trace);
      await clock.advance(3_600_000);
      await eve.post('/session/confirm', { password: 'the password of eve' });
    }
    expect(seen[0]).toEqual(seen[1]);
    expect(JSON.stringify(seen[0])).toContain('"errorCode":41');
  });
});
