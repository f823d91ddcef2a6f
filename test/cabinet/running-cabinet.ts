// The complete cabinet API on one database behind a real HTTP server, with devices played by a fake link.
import type { RouteOptions } from 'fastify';
import type { Access } from '../../src/access/access.ts';
import { createAccess } from '../../src/access/access.ts';
import { createPeople, type People } from '../../src/access/people/people.ts';
import { createEventHub } from '../../src/cabinet/events/event-hub.ts';
import type { PlaygroundPort } from '../../src/cabinet/playground/port.ts';
import { registerCabinetRoutes } from '../../src/cabinet/routes.ts';
import { type Callbacks, createCallbacks } from '../../src/callbacks/callbacks.ts';
import type { Engine } from '../../src/database/dialect.ts';
import { registerBrokerRoutes } from '../../src/devices/broker-routes.ts';
import { createDevices, type Devices } from '../../src/devices/devices.ts';
import { registerDeviceRoutes } from '../../src/devices/routes.ts';
import { createTokenCheck } from '../../src/http/authentication.ts';
import type { HttpServer } from '../../src/http/server.ts';
import { createInvoices, type Invoices } from '../../src/invoices/invoices.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import { createLedger } from '../../src/ledger/ledger.ts';
import type { Link } from '../../src/link/link.ts';
import { createFakeLink, type FakeLink } from '../devices/fake-link.ts';
import { openQuickDatabase, type TestDatabase } from '../support/engines.ts';
import { type RecordingLogger, recordingLogger } from '../support/quiet-logger.ts';
import { createTestServer } from '../support/test-server.ts';

export const adminToken = 'canary-admin-token-of-the-cabinet';

export const brokerTokens = ['Canary-broker-token-old-one', 'Canary-broker-token-new-one'] as const;

export interface Answer {
  [field: string]: unknown;
  status: number;
  errorCode: number;
  errorMessage: string;
}

export interface RunningCabinet {
  database: TestDatabase;
  access: Access;
  people: People;
  /** Every registered route, in order. */
  routes: RouteOptions[];
  devices: Devices;
  callbacks: Callbacks;
  invoices: Invoices;
  link: FakeLink;
  logger: RecordingLogger;
  server: HttpServer;
  url: string;
  get(path: string, token?: string): Promise<Answer>;
  post(path: string, body?: object, token?: string): Promise<Answer>;
  /** Actions in the audit log, oldest first. */
  audit(): Promise<string[]>;
  close(): Promise<void>;
}

export interface OfficeOptions {
  clock?: Clock;
  isSandbox?: boolean;
  requiresTotp?: boolean;
  onFailedLogin?: (failed: { email: string }) => void;
  /** Address ranges that callbacks may connect to. */
  allow?: string[];
  playground?: () => PlaygroundPort | undefined;
  /** Answers of the device to a bank day. */
  closeDay?: () => Promise<never>;
  /** Used instead of a new database. */
  database?: TestDatabase;
}

// Card payments have their own tests.
const notPlayed = () => Promise.reject(new Error('The cabinet plays no terminals.'));
const cards = {
  closeDocumentByHand: notPlayed,
  refund: notPlayed,
  cancelTransaction: notPlayed,
  closeDoc: notPlayed,
  closeDay: notPlayed,
  lastTransaction: notPlayed,
};
const fiscal = { createReport: notPlayed };

export async function openCabinet(engine: Engine, options: OfficeOptions = {}): Promise<RunningCabinet> {
  const { clock = systemClock, isSandbox = false } = options;
  const database = options.database ?? (await openQuickDatabase(engine, options.clock));
  const logger = recordingLogger();
  const random = systemRandom;
  const link = createFakeLink();
  const routes: RouteOptions[] = [];
  const access = createAccess({ database, clock, random, maxKeys: 100 });
  let url = '';
  const people = createPeople({
    database,
    clock,
    random,
    logger,
    isSandbox,
    maxUsers: 100,
    sessionIdleMs: 2 * 3_600_000,
    requiresTotp: options.requiresTotp ?? false,
    onFailedLogin: options.onFailedLogin,
    baseUrl: () => url,
  });
  const devices = createDevices({
    database,
    clock,
    random,
    banks: [{ code: 'one', name: 'Bank One' }],
    addresses: () => ({ mqttUrl: 'mqtt://broker.example:1883', queueUrl: 'amqp://broker.example:5672' }),
  });
  const callbacks = createCallbacks({ database, clock, logger, instanceId: 'cabinet', delaysS: [60], allow: options.allow ?? [] });
  // Not started and without devices: only what the cabinet changes on commands.
  const ledger = createLedger({ database, link: link as unknown as Link, clock, random, logger, instanceId: 'cabinet' });
  ledger.define({ Pay: {} });
  const invoices = createInvoices({ database, callbacks, clock, random, logger, scanGraceS: 0, timeZone: 'Europe/Chisinau' });
  const server = createTestServer({
    basePath: '/tillgate',
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
    const about = { people, basePath: '/tillgate', isSandbox, version: '1.2.3', banks: devices.banks };
    app.addHook('onRoute', (route) => void routes.push(route));
    registerCabinetRoutes(app, {
      exportBounds: { maxAtOnce: 4, maxRows: 1_000_000 },
      database,
      clock,
      random,
      access,
      devices,
      callbacks,
      link,
      cancelInvoice,
      rotateQrSecret,
      qrOf: invoices.qrOf,
      events,
      playground: options.playground ?? (() => undefined),
      fiscal,
      developerFacts: () => ({ magicAmounts: [] }),
      ledger,
      cards: { ...cards, closeDay: options.closeDay ?? notPlayed },
      ...about,
    });
    registerDeviceRoutes(app, { database, clock, link, devices });
    registerBrokerRoutes(app, { devices, tokens: brokerTokens });
  });
  url = (await server.listen()).url;

  async function call(
    path: string,
    init: { method?: string; headers?: Record<string, string>; body?: string },
    token: string,
  ): Promise<Answer> {
    const response = await fetch(`${url}${path}`, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } });
    return { status: response.status, ...((await response.json()) as Omit<Answer, 'status'>) } as Answer;
  }

  return {
    database,
    access,
    people,
    routes,
    devices,
    callbacks,
    invoices,
    link,
    logger,
    server,
    url,
    get: (path, token = adminToken) => call(`/cabinet/api${path}`, {}, token),
    post: (path, body, token = adminToken) =>
      call(
        `/cabinet/api${path}`,
        body === undefined
          ? { method: 'POST' }
          : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
        token,
      ),
    async audit() {
      const rows = await database.queries.selectFrom('audit_log').select('action').orderBy('id').execute();
      return rows.map(({ action }) => action);
    },
    async close() {
      events.stop();
      await server.stop(0);
      access.stop();
      people.stop();
      devices.stop();
      await invoices.stop();
      await callbacks.stop();
      await ledger.stop();
      await database.close();
    },
  };
}
