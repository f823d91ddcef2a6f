// The role matrix at the API: each role and each registered call, on its own rows and another merchant's, with a fresh confirmation
// and without. A call without a row in roles.ts fails here, and so does a row without a call.
import type { RouteOptions } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { insertSession } from '../../src/access/people/sessions.ts';
import { insertRow } from '../../src/access/people/users.ts';
import { calls, type RowKind, ruleOf } from '../../src/cabinet/roles.ts';
import type { Role } from '../../src/http/viewer.ts';
import { systemRandom } from '../../src/kernel/system.ts';
import { byDayOrNight } from '../support/at-length.ts';
import { engines } from '../support/engines.ts';
import { seedCallback, seedCommand, seedDevice, seedInvoice, seedKey, seedMerchant, seedQrSecret } from '../support/fixtures.ts';
import { openCabinet, type RunningCabinet } from './running-cabinet.ts';

interface Asked {
  status: number;
  errorCode: number;
  needsConfirmation?: boolean;
  text: string;
}

const nobody = '3b241101-e2bb-4255-8caf-4136c566a962';
/** Authorized by their handlers, because the id is a session of any user, or may be an e-mail. */
const judgedInside = ['endSession', 'renewUserLink'];
/** They would end the session of the test; people.test.ts covers them. */
const endThemselves = ['signOut', 'endAllSessions'];
/** The kind of row that a field of a query or body names; a new field needs a line here. `name`: search text. */
const rowsInFields: Record<string, RowKind | 'close' | 'name' | undefined> = {
  merchantId: 'merchant',
  deviceId: 'device',
  userId: 'user',
  subjectId: 'invoice',
  close: 'close',
  q: 'name',
  subject: 'name',
  actor: 'name',
  ...Object.fromEntries(
    [
      'cursor',
      'before',
      'limit',
      'from',
      'to',
      'mode',
      'name',
      'state',
      'bank',
      'shop',
      'minAmount',
      'maxAmount',
      'period',
      'timeZone',
      'action',
    ].map((field) => [field, undefined]),
  ),
};
const rowIn = (call: string, field: string) => {
  if (!Object.hasOwn(rowsInFields, field)) throw new Error(`${call}: say in rowsInFields what ${field} names.`);
  return rowsInFields[field];
};
const fieldsOf = (schema: unknown) => Object.keys((schema as { properties?: object } | undefined)?.properties ?? {});
/** String fields without a fixed format. */
const freeTextOf = (schema: unknown) =>
  Object.entries(
    (schema as { properties?: Record<string, { type?: string; enum?: unknown; format?: string }> } | undefined)?.properties ?? {},
  )
    .filter(([, { type, enum: choices, format }]) => type === 'string' && choices === undefined && format === undefined)
    .map(([field]) => field);
/** Lists without rows of a merchant: only the own user, or totals. */
const showsNoRow = [
  // Totals only; commands-list.test.ts covers their scope.
  'totalCommands',
  'listSessions',
  // Without a merchant.
  'listInstances',
  'readDevelopers',
  'streamEvents',
  'exportDayClose',
  'readPlayground',
];
const standings = {
  operator: { role: 'operator', isBound: false },
  merchant: { role: 'merchant', isBound: true },
  viewer: { role: 'viewer', isBound: true },
  'viewer of all': { role: 'viewer', isBound: false },
} as const satisfies Record<string, { role: Role; isBound: boolean }>;
type Standing = keyof typeof standings;

// The rights are decided before any statement, and the scope is one condition that both engines get: the tests of the views run it on both.
describe.each(byDayOrNight(['sqlite' as const], engines))('the role matrix on %s', (engine) => {
  let cabinet: RunningCabinet;
  let own: string;
  let foreign: string;
  const fresh: Record<string, string> = {};
  const stale: Record<string, string> = {};

  beforeAll(async () => {
    cabinet = await openCabinet(engine);
    const { queries } = cabinet.database;
    await seedQrSecret(queries);
    own = (await seedMerchant(queries, { name: 'Own shop' })).id;
    foreign = (await seedMerchant(queries, { name: 'FOREIGN shop' })).id;
    for (const [name, { role, isBound }] of Object.entries(standings)) {
      const standing = { role, merchantId: isBound ? own : null };
      const userId = await insertRow(queries, systemRandom, { email: `${name.replaceAll(' ', '-')}@shop.md`, name, standing });
      const origin = { address: '127.0.0.1', agent: 'test' };
      fresh[name] = (await insertSession(queries, systemRandom, userId, origin)).token;
      const late = await insertSession(queries, systemRandom, userId, origin);
      await queries.updateTable('sessions').set({ confirmed_at: 0 }).where('id', '=', late.id).execute();
      stale[name] = late.token;
    }
    for (const kind of Object.keys(seeds) as RowKind[]) for (const merchantId of [own, foreign]) await seeds[kind](merchantId);
    for (const merchantId of [own, foreign]) {
      await seedClose(merchantId);
      const { name } = marked(merchantId);
      const orphan = {
        merchant_id: merchantId,
        oid: await seeds.invoice(merchantId),
        receipt_id: name,
        device_id: nobody,
        reason: name,
        at: 1,
      };
      await queries.insertInto('orphan_payments').values(orphan).execute();
      const entry = { at: 1, actor: 'test', action: 'test', subject: name, detail: '{}', merchant_id: merchantId };
      await queries.insertInto('audit_log').values(entry).execute();
    }
    await seedPointers();
  });
  afterAll(() => cabinet.close());

  const marked = (merchantId: string) => ({ name: merchantId === foreign ? 'FOREIGN' : 'own' });
  const seeds: Record<RowKind, (merchantId: string) => Promise<string>> = {
    merchant: async (merchantId) => merchantId,
    key: async (merchantId) => (await seedKey(cabinet.database.queries, merchantId, marked(merchantId))).id,
    device: async (merchantId) => (await seedDevice(cabinet.database.queries, merchantId, marked(merchantId))).id,
    callback: async (merchantId) => (await seedCallback(cabinet.database.queries, merchantId)).id,
    invoice: async (merchantId) => (await seedInvoice(cabinet.database.queries, merchantId, { qr_secret_id: 1 })).oid,
    async command(merchantId) {
      const device = await seeds.device(merchantId);
      const review = { review_since: 1, review_reason: marked(merchantId).name };
      return (await seedCommand(cabinet.database.queries, merchantId, device, { state: 'unknown', ...review })).id;
    },
    async user(merchantId) {
      const email = `${systemRandom.uuid()}@shop.md`;
      const standing = { role: 'viewer', merchantId } as const;
      return insertRow(cabinet.database.queries, systemRandom, { email, ...marked(merchantId), standing });
    },
  };

  /** A device of another merchant paid by QR too late: the row belongs to the own merchant, the device and its name do not. */
  async function seedPointers(): Promise<void> {
    const { queries } = cabinet.database;
    const device_id = await seeds.device(foreign);
    const oid = await seeds.invoice(own);
    await queries
      .insertInto('orphan_payments')
      .values({ merchant_id: own, oid, receipt_id: 'r', device_id, reason: 'own', at: 1 })
      .execute();
    const reported = {
      merchant_id: own,
      device_id,
      subject_kind: 'invoice',
      subject_id: oid,
      receipt_id: 'r',
      outcome: 'done',
      at: 1,
    } as const;
    await queries.insertInto('unmatched_reports').values(reported).execute();
  }

  /** The day close of a shop. */
  async function seedClose(merchantId: string): Promise<string> {
    const device = await seedDevice(cabinet.database.queries, merchantId, {
      ...marked(merchantId),
      point_of_sales_code: `${marked(merchantId).name}-1`,
    });
    const settled = { state: 'done', issued_at: 1_000, settled_at: 2_000, settled_by: 'answer' } as const;
    return (await seedCommand(cabinet.database.queries, merchantId, device.id, { name: 'CloseDay', ...settled })).id;
  }

  const cabinetRoutes = () => cabinet.routes.filter(({ url }) => url.startsWith('/tillgate/cabinet/api'));
  const callOf = (route: RouteOptions) => (route.config?.access?.kind === 'cabinet' ? route.config.access.call : '');

  async function ask(
    route: RouteOptions,
    token: string | undefined,
    more: { id?: string; query?: string; body?: object } = {},
  ): Promise<Asked> {
    const method = String(route.method);
    const path = route.url.replace(/^\/tillgate/, '').replace(/:(id|oid)\b/, more.id ?? nobody);
    const hasBody = method === 'POST' || method === 'PATCH';
    const response = await fetch(`${cabinet.url}${path}${more.query ?? ''}`, {
      method,
      headers: {
        'x-tillgate-request': '1',
        ...(token === undefined ? {} : { cookie: `tillgate_session=${token}` }),
        ...(hasBody ? { 'content-type': 'application/json' } : {}),
      },
      ...(hasBody ? { body: JSON.stringify(more.body ?? {}) } : {}),
    });
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
      await response.body?.cancel();
      return { status: response.status, errorCode: 0, text: '' };
    }
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    return { errorCode: 0, ...(isJson ? (JSON.parse(text) as object) : {}), status: response.status, text };
  }

  it('has a row for every call, and a call for every row', () => {
    const routes = cabinetRoutes();
    for (const { url, method, config, schema } of routes) {
      const name = `${String(method)} ${url}`;
      const operationId = schema?.operationId ?? '';
      const rule = ruleOf(operationId);
      expect(rule, `${name} has no row in roles.ts`).toBeDefined();
      expect(config?.access, name).toEqual({
        ...{ kind: 'cabinet', call: operationId, who: rule?.who },
        ...{ isConfirmed: rule?.isConfirmed ?? false, isBeforeTotp: rule?.isBeforeTotp ?? false },
      });
      const namesRow = /:(id|oid)\b/.test(url) && !judgedInside.includes(operationId);
      expect(rule?.row !== undefined, `${name} must say what its id names`).toBe(namesRow);
    }
    expect(routes.map(callOf).sort()).toEqual(Object.keys(calls).sort());
  });

  it('allows an anonymous caller public calls only', async () => {
    for (const route of cabinetRoutes()) {
      const { status } = await ask(route, undefined);
      const isOpen = ruleOf(callOf(route))?.who === 'public';
      // A wrong login is 401 as well; an empty one is refused as invalid before that.
      expect(status === 401, callOf(route)).toBe(!isOpen);
    }
  });

  describe.each(Object.keys(standings) as Standing[])('as %s', (name) => {
    const { role, isBound } = standings[name];
    const mayCall = (call: string) => {
      const who = ruleOf(call)?.who ?? [];
      return who === 'public' || who.includes(role);
    };
    const token = () => fresh[name];

    it('refuses calls that the role may not use, on any row', async () => {
      for (const route of cabinetRoutes().filter((one) => !mayCall(callOf(one)))) {
        const kind = ruleOf(callOf(route))?.row;
        for (const merchantId of [own, foreign]) {
          const answer = await ask(route, token(), kind === undefined ? {} : { id: await seeds[kind](merchantId) });
          expect(answer, callOf(route)).toMatchObject({ status: 403, errorCode: 11 });
        }
      }
    });

    it('accepts calls that the role may use, on its own rows', async () => {
      for (const route of cabinetRoutes().filter((one) => mayCall(callOf(one)) && !endThemselves.includes(callOf(one)))) {
        const kind = ruleOf(callOf(route))?.row;
        const { status, errorCode, text } = await ask(route, token(), kind === undefined ? {} : { id: await seeds[kind](own) });
        expect([401, 403], `${callOf(route)} ${text}`).not.toContain(status);
        if (kind !== undefined) expect(errorCode, `${callOf(route)} ${text}`).not.toBe(20);
      }
    });

    it("shows another merchant's rows only to roles that see all merchants", async () => {
      for (const route of cabinetRoutes().filter((one) => mayCall(callOf(one)))) {
        const kind = ruleOf(callOf(route))?.row;
        if (kind === undefined) continue;
        const { errorCode, text } = await ask(route, token(), { id: await seeds[kind](foreign) });
        expect(errorCode === 20, `${callOf(route)} ${text}`).toBe(isBound);
        if (isBound) expect(text).not.toContain('FOREIGN');
      }
    });

    it("lists no rows of another merchant, and treats that merchant's id as unknown", async () => {
      for (const route of cabinetRoutes().filter((one) => one.method === 'GET' && !/:(id|oid)/.test(one.url) && mayCall(callOf(one)))) {
        if (ruleOf(callOf(route))?.who === 'public') continue;
        const { text } = await ask(route, token());
        if (isBound) {
          expect(text, callOf(route)).not.toContain(foreign);
          expect(text, callOf(route)).not.toContain('FOREIGN');
          expect(await ask(route, token(), { query: `?merchantId=${foreign}` }), callOf(route)).toMatchObject({ errorCode: 20 });
          expect((await ask(route, token(), { query: `?merchantId=${own.toUpperCase()}` })).errorCode, callOf(route)).not.toBe(20);
        }
      }
      if (!isBound) expect((await askFor('listMerchants')).text).toContain('FOREIGN');
    });
    const askFor = (call: string) => {
      const route = cabinetRoutes().find((one) => callOf(one) === call);
      if (route === undefined) throw new Error(`There is no call ${call}.`);
      return ask(route, token());
    };

    it("shows nothing of another merchant's row named in a query", async () => {
      for (const route of cabinetRoutes().filter((one) => one.method === 'GET' && mayCall(callOf(one)))) {
        for (const field of fieldsOf(route.schema?.querystring)) {
          const kind = rowIn(callOf(route), field);
          if (kind === undefined || !isBound) continue;
          const value = kind === 'name' ? 'FOREIGN' : await (kind === 'close' ? seedClose(foreign) : seeds[kind](foreign));
          const named = ruleOf(callOf(route))?.row;
          const id = named === undefined ? {} : { id: await seeds[named](own) };
          const { text, errorCode } = await ask(route, token(), { ...id, query: `?${field}=${encodeURIComponent(value)}` });
          expect(text, `${callOf(route)} ${field}`).not.toContain('FOREIGN');
          if (kind === 'close') expect(errorCode, callOf(route)).toBe(20);
          expect(text, `${callOf(route)} ${field}`).not.toContain(foreign);
        }
      }
    });

    it("finds nothing by another merchant's ids, complete or partial, in any text field", async () => {
      if (!isBound) return;
      const ids = await Promise.all((Object.keys(seeds) as RowKind[]).map(async (kind) => [kind, await seeds[kind](foreign)] as const));
      for (const route of cabinetRoutes().filter((one) => one.method === 'GET' && !/:(id|oid)/.test(one.url) && mayCall(callOf(one)))) {
        for (const field of freeTextOf(route.schema?.querystring)) {
          for (const [kind, id] of ids) {
            // The scope is that of the session's merchant, not of the role: one role searches in every spelling.
            const spellings = role === 'merchant' ? [id, id.toUpperCase(), id.slice(0, 8), id.slice(0, 13)] : [id.slice(0, 13)];
            for (const typed of spellings) {
              const { text } = await ask(route, token(), { query: `?${field}=${encodeURIComponent(typed)}` });
              const asked = `${callOf(route)} ${field}=${typed}, a ${kind}`;
              expect(text, asked).not.toContain('FOREIGN');
              // The answer may repeat the search text, and nothing more of it.
              if (typed !== id) expect(text, asked).not.toContain(id);
              if (kind !== 'merchant') expect(text, asked).not.toContain(foreign);
              else if (typed === id) expect(text.replaceAll(`"${id}"`, ''), asked).not.toContain(foreign);
            }
          }
        }
      }
    });

    it('lists rows of both merchants in every list for roles that see all, so that the other tests prove something', async () => {
      if (isBound) return;
      for (const route of cabinetRoutes().filter((one) => one.method === 'GET' && !/:(id|oid)/.test(one.url) && mayCall(callOf(one)))) {
        const call = callOf(route);
        if (ruleOf(call)?.who === 'public' || showsNoRow.includes(call)) continue;
        const queryOf: Record<string, string> = {
          search: '?q=FOREIGN',
          readDayClose: `?close=${await seedClose(foreign)}`,
        };
        const { text } = await ask(route, token(), { query: queryOf[call] ?? '' });
        expect(text.includes('FOREIGN') || text.includes(foreign), `${call} shows no row of the foreign merchant: seed one`).toBe(true);
      }
    });

    it('refuses another merchant named in a body', async () => {
      if (!isBound) return;
      for (const route of cabinetRoutes().filter(
        (one) => mayCall(callOf(one)) && one.method !== 'GET' && !endThemselves.includes(callOf(one)),
      )) {
        if (/:(id|oid)/.test(route.url) || ruleOf(callOf(route))?.who === 'public' || route.method === 'DELETE') continue;
        expect(await ask(route, token(), { body: { merchantId: foreign } }), callOf(route)).toMatchObject({ errorCode: 20 });
      }
    });

    it('requires a fresh confirmation exactly for the calls that declare it', async () => {
      for (const route of cabinetRoutes().filter((one) => mayCall(callOf(one)) && !endThemselves.includes(callOf(one)))) {
        const rule = ruleOf(callOf(route));
        const answer = await ask(route, stale[name], rule?.row === undefined ? {} : { id: await seeds[rule.row](own) });
        const isAsked = answer.status === 403 && answer.errorCode === 10 && answer.needsConfirmation === true;
        expect(isAsked, `${callOf(route)} ${answer.text}`).toBe(rule?.isConfirmed === true);
      }
    });
  });
});
