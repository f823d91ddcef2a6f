// A shop in virtual time with the HTTP API in front of it: ERPs call with a key, people read with the admin token.
import type { InjectOptions } from 'fastify';
import { createAccess } from '../../../src/access/access.ts';
import { createPeople } from '../../../src/access/people/people.ts';
import { createEventHub } from '../../../src/cabinet/events/event-hub.ts';
import { registerCabinetRoutes } from '../../../src/cabinet/routes.ts';
import { registerCardRoutes } from '../../../src/cards/routes.ts';
import { createDevices } from '../../../src/devices/devices.ts';
import { registerFiscalRoutes } from '../../../src/fiscal/routes.ts';
import { createTokenCheck } from '../../../src/http/authentication.ts';
import { registerInvoiceRoutes } from '../../../src/invoices/routes.ts';
import { seedKey } from '../../support/fixtures.ts';
import { createSaleWorld, type WorldOptions } from '../../support/sale-world.ts';
import { createTestServer } from '../../support/test-server.ts';

const adminToken = 'canary-admin-token-of-the-cabinet';

export interface Answered {
  [field: string]: unknown;
  status: number;
  text: string;
  errorCode: number;
}

export type CabinetWorld = Awaited<ReturnType<typeof createCabinetWorld>>;

export async function createCabinetWorld(options: WorldOptions = {}) {
  const world = await createSaleWorld(options);
  const { clock, random, logger } = world;
  const { database, ledger, cards, fiscal, link, invoices, callbacks } = world.life;
  const access = createAccess({ database, clock, random, maxKeys: 100 });
  const people = createPeople({
    database,
    clock,
    random,
    logger,
    isSandbox: false,
    maxUsers: 100,
    sessionIdleMs: 2 * 3_600_000,
    requiresTotp: false,
    baseUrl: () => '',
  });
  const banks = [{ code: 'bank1', name: 'Bank One' }];
  const devices = createDevices({ database, clock, random, banks, addresses: () => ({ mqttUrl: 'mqtt://x', queueUrl: 'ws://x' }) });
  const { key, id: keyId } = await seedKey(database.queries, world.merchantId, { name: 'ERP Centru' });
  const server = createTestServer({
    basePath: '',
    logger,
    clock,
    random,
    findCaller: access.findCaller,
    findDevice: devices.checkSecret,
    isAdminToken: createTokenCheck(adminToken),
    findSession: people.findSession,
  });
  const events = createEventHub({ database, clock, logger, link, streamBounds: { maxPerUser: 6, maxPerMerchant: 8, maxInAll: 10 } });
  server.routes((app) => {
    const { cancelInvoice, rotateQrSecret } = invoices;
    const about = { people, basePath: '', isSandbox: false, version: '1.2.3', banks };
    registerCabinetRoutes(app, {
      exportBounds: { maxAtOnce: 4, maxRows: 1_000_000 },
      database,
      random,
      clock,
      access,
      devices,
      callbacks,
      link,
      ledger,
      cards,
      cancelInvoice,
      rotateQrSecret,
      qrOf: invoices.qrOf,
      events,
      playground: () => undefined,
      fiscal,
      dryRuns: world.life.dryRuns,
      developerFacts: () => ({ magicAmounts: [] }),
      ...about,
    });
    registerCardRoutes(app, cards);
    registerFiscalRoutes(app, fiscal);
    registerInvoiceRoutes(app, { invoices, invoiceAuth: 'open' });
  });

  /** Advances the time until the call is answered. */
  async function call(request: InjectOptions): Promise<Answered> {
    let answer: Answered | undefined;
    let failure: unknown;
    server.app.inject(request).then(
      (response) => {
        const isJson = String(response.headers['content-type']).includes('json');
        answer = { status: response.statusCode, text: response.body, errorCode: -1, ...(isJson ? response.json() : {}) };
      },
      (error: unknown) => {
        failure = error;
      },
    );
    await clock.runUntil(() => answer !== undefined || failure !== undefined, 15 * 60_000);
    if (answer === undefined) throw failure;
    return answer;
  }
  const person = { authorization: `Bearer ${adminToken}` };

  const more = {
    key,
    keyId,
    devices,
    events,
    server,
    /** A call of an ERP. */
    erp: (path: string, body: object, headers: Record<string, string> = {}) =>
      call({ method: 'POST', url: path, payload: { APIKey: key, ...body }, headers }),
    /** A call of a person in the cabinet. */
    look: (path: string) => call({ method: 'GET', url: `/cabinet/api${path}`, headers: person }),
    act: (path: string, body: object = {}, headers: Record<string, string> = {}) =>
      call({ method: 'POST', url: `/cabinet/api${path}`, payload: body, headers: { ...person, ...headers } }),
    async close(): Promise<void> {
      events.stop();
      await server.app.close();
      access.stop();
      devices.stop();
      await world.stop();
    },
  };
  return Object.defineProperties(world, Object.getOwnPropertyDescriptors(more)) as typeof world & typeof more;
}
