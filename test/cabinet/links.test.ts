// One-time links over HTTP while another user changes the invited one: a link grants only rights that its creator could grant.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useLink } from '../../src/access/people/links.ts';
import { changeUser } from '../../src/access/people/users.ts';
import type { Queries } from '../../src/database/database.ts';
import { adminViewer } from '../../src/http/viewer.ts';
import { systemRandom } from '../../src/kernel/system.ts';
import { engines, waitsForLock } from '../support/engines.ts';
import { until } from '../support/until.ts';
import { type Answer, type Browser, openBrowser } from './browser.ts';
import { openCabinet, type RunningCabinet } from './running-cabinet.ts';

const password = 'bread and butter';
const tokenOf = (answer: Record<string, unknown>) => String(answer['link']).split('#')[1] ?? '';
const idOf = (answer: Answer) => (answer['user'] as { id: string }).id;

describe.each(engines)('one-time links on %s', (engine) => {
  let cabinet: RunningCabinet;
  let olga: Browser;
  let eve: Browser;
  let shop: string;
  let other: string;
  beforeEach(async () => {
    cabinet = await openCabinet(engine);
    shop = String((await cabinet.post('/merchants', { name: 'Corner shop' })).id);
    other = String((await cabinet.post('/merchants', { name: 'Bakery' })).id);
    olga = await settle({ role: 'operator', email: 'olga@tillgate.md' });
    eve = await settle({ role: 'merchant', email: 'eve@shop.md', merchantId: shop });
  });
  afterEach(() => cabinet.close());

  async function settle(wanted: object): Promise<Browser> {
    const browser = openBrowser(cabinet.url);
    const token = tokenOf(await cabinet.post('/users', { name: 'Somebody', ...wanted }));
    expect(await browser.post('/links/use', { token, password })).toMatchObject({ errorCode: 0 });
    return browser;
  }
  const inviteDan = () => eve.post('/users', { name: 'Dan', email: 'dan@shop.md', role: 'viewer' });
  const use = (answer: Record<string, unknown>) => openBrowser(cabinet.url).post('/links/use', { token: tokenOf(answer), password });

  it.each<[string, (other: string) => object]>([
    ['raised to operator', () => ({ role: 'operator' })],
    ['moved to another merchant', (other) => ({ merchantId: other })],
    ['given access to all merchants', () => ({ allMerchants: true })],
  ])('of a user who was %s are void; only the user who made the change can create a new one', async (_what, change) => {
    const invited = await inviteDan();
    expect(await olga.patch(`/users/${idOf(invited)}`, change(other))).toMatchObject({ errorCode: 0, user: { state: 'invited' } });
    expect(await use(invited)).toMatchObject({ errorCode: 20, setCookie: null });
    expect(await eve.post(`/users/${idOf(invited)}/link`)).toMatchObject({ errorCode: 20 });
    expect(await use(await olga.post(`/users/${idOf(invited)}/link`))).toMatchObject({ errorCode: 0, user: { state: 'active' } });
  });

  /** Eve requests a new link during a transaction that changes the user, which commits once her call waits for it, or has returned. */
  async function renewedDuring(id: string, work: (queries: Queries) => Promise<unknown>): Promise<Answer> {
    const [changed, mayCommit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const change = cabinet.database.transaction(async (queries) => {
      await work(queries);
      changed.resolve();
      await mayCommit.promise;
    });
    await changed.promise;
    let isOver = false;
    const renewed = eve.post(`/users/${id}/link`).finally(() => {
      isOver = true;
    });
    await until(async () => isOver || (await waitsForLock(cabinet.database)));
    mayCommit.resolve();
    await change;
    return renewed;
  }
  const linksOf = (id: string) => cabinet.database.queries.selectFrom('user_links').selectAll().where('subject', '=', id).execute();

  // SQLite runs one transaction at a time.
  const withLocks: [string, boolean][] = [
    ['an operator, whose row is locked as well', true],
    ['the admin token only', false],
  ];
  describe.each(engine === 'postgres' ? withLocks : [])('with %s', (_with, hasOperator) => {
    beforeEach(async () => {
      if (!hasOperator)
        await cabinet.database.queries.updateTable('users').set({ role: 'viewer' }).where('role', '=', 'operator').execute();
    });

    it('are not renewed by the inviting user while the invited user uses theirs', async () => {
      const invited = await inviteDan();
      const renewed = await renewedDuring(idOf(invited), (queries) =>
        useLink(engine, queries, systemRandom, { token: tokenOf(invited), passwordHash: 'chosen by Dan' }),
      );
      expect(renewed).toMatchObject({ status: 403, errorCode: 11 });
      expect(await linksOf(idOf(invited))).toEqual([]);
    });

    it('are not renewed by the inviting user while the invited user gets more rights', async () => {
      const invited = await inviteDan();
      const renewed = await renewedDuring(idOf(invited), (queries) =>
        changeUser({ engine, queries, viewer: adminViewer, maxUsers: 100 }, idOf(invited), { role: 'operator' }),
      );
      expect(renewed).toMatchObject({ errorCode: 20 });
      expect(await linksOf(idOf(invited))).toEqual([]);
    });
  });
});
