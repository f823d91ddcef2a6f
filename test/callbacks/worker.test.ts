// The worker with real HTTP, in real time, on each engine.

import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Callbacks, CallbacksDeps } from '../../src/callbacks/callbacks.ts';
import { enqueueCallback } from '../../src/callbacks/outbox.ts';
import type { Database } from '../../src/database/database.ts';
import { openDatabase } from '../../src/database/open.ts';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { seedMerchant } from '../support/fixtures.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { until } from '../support/until.ts';
import { type Erp, startErp } from './erp.ts';
import { callbacksOn, enqueue } from './harness.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function erpUp(): Promise<Erp> {
  const erp = await startErp();
  closing.push(() => erp.close());
  return erp;
}

function begin(database: Database, overrides: Partial<CallbacksDeps> = {}): Callbacks {
  const callbacks = callbacksOn(database, { limits: { stopGraceMs: 100 }, ...overrides });
  callbacks.start();
  closing.push(() => callbacks.stop());
  return callbacks;
}

describe.each(engines)('callbacks on %s', (engine) => {
  let database: TestDatabase;
  let merchantId: string;
  beforeEach(async () => {
    database = await openTestDatabase(engine);
    closing.push(() => database.close());
    merchantId = (await seedMerchant(database.queries)).id;
  });

  /** A second gateway where the engine allows one, otherwise a second worker on the same database. */
  async function secondInstance(): Promise<Database> {
    if (engine === 'sqlite') return database;
    const other = await database.another();
    closing.push(() => other.close());
    return other;
  }

  const states = async (callbacks: Callbacks) => (await callbacks.list({ limit: 1_000 })).map((each) => each.state);

  it('reach the ERP within tens of milliseconds of the commit', async () => {
    const erp = await erpUp();
    const callbacks = begin(database);
    const tookMs: number[] = [];
    for (let count = 1; count <= 21; count += 1) {
      const committedAt = performance.now();
      await enqueue(database, callbacks, { merchantId, url: `${erp.base}/${count}` });
      await erp.hears(count);
      tookMs.push((erp.heard.at(-1)?.atMs ?? 0) - committedAt);
    }
    tookMs.sort((one, other) => one - other);
    expect(tookMs[10]).toBeLessThan(50);
    await until(async () => (await states(callbacks)).every((state) => state === 'delivered'));
  });

  it('written but rolled back are never sent', async () => {
    const erp = await erpUp();
    const callbacks = begin(database);
    const failed = database.transaction(async (queries) => {
      await enqueueCallback(
        queries,
        { random: systemRandom },
        {
          merchantId,
          subjectKind: 'invoice',
          subjectId: randomUUID(),
          sequence: 1,
          url: `${erp.base}/never`,
        },
      );
      throw new Error('rolled back');
    });
    await expect(failed).rejects.toThrow('rolled back');
    await enqueue(database, callbacks, { merchantId, url: `${erp.base}/after` });
    await erp.hears(1);
    expect(erp.heard.map((each) => each.url)).toEqual(['/after']);
    expect(await callbacks.list({ limit: 10 })).toHaveLength(1);
  });

  it('run through a shortened schedule in real time', async () => {
    const erp = await erpUp();
    erp.answer = (_request, response) => response.writeHead(503).end('not now');
    const delaysS = [0.05, 0.1, 0.15, 0.2, 0.25];
    const callbacks = begin(database, { delaysS });
    await enqueue(database, callbacks, { merchantId, url: `${erp.base}/cb` });
    await erp.hears(6);
    await until(async () => (await states(callbacks))[0] === 'dead');
    const gaps = erp.heard.slice(1).map((each, index) => each.atMs - (erp.heard[index]?.atMs ?? 0));
    for (const [index, gap] of gaps.entries()) {
      expect(gap).toBeGreaterThanOrEqual((delaysS[index] ?? 0) * 1000 - 3);
      expect(gap).toBeLessThan((delaysS[index] ?? 0) * 1000 + 500);
    }
    expect(new Set(erp.heard.map((each) => each.headers['webhook-id'])).size).toBe(1);
    const [dead] = await callbacks.list({ state: 'dead', limit: 10 });
    expect(await callbacks.attempts(dead?.id ?? '')).toMatchObject(
      [1, 2, 3, 4, 5, 6].map((attempt) => ({ attempt, status: 503, error: null, responseHead: 'not now' })),
    );
  });

  it('are shared by two instances without being sent twice', async () => {
    const erp = await erpUp();
    // Long enough in all for the other instance to hear that there is more than one can take.
    erp.answer = (_request, response) => void setTimeout(() => response.end(), 20);
    const here = begin(database);
    const other = begin(await secondInstance());
    await database.transaction(async (queries) => {
      for (let count = 0; count < 300; count += 1) {
        await enqueueCallback(
          queries,
          { random: systemRandom },
          {
            merchantId,
            subjectKind: 'invoice',
            subjectId: randomUUID(),
            sequence: 1,
            url: `${erp.base}/${count}`,
          },
        );
      }
    });
    here.wake();
    await erp.hears(300);
    await until(async () => (await states(here)).every((state) => state === 'delivered'), 15_000);
    expect(erp.heard.length).toBe(300);
    expect(new Set(erp.heard.map((each) => each.headers['webhook-id'])).size).toBe(300);
    // Counted once the commit is known, which is after it.
    await until(() => here.counts().delivered + other.counts().delivered === 300, 15_000);
    expect(Math.min(here.counts().delivered, other.counts().delivered)).toBeGreaterThan(0);
  });

  it('arrive in order for each invoice, also with two instances', async () => {
    const erp = await erpUp();
    const log: string[] = [];
    erp.answer = (request, response) => {
      log.push(`begin ${request.url}`);
      setTimeout(() => {
        log.push(`end ${request.url}`);
        response.end();
      }, Math.random() * 15);
    };
    const here = begin(database);
    begin(await secondInstance());
    const invoices = Array.from({ length: 20 }, () => randomUUID());
    for (const sequence of [1, 2, 3]) {
      await Promise.all(
        invoices.map((subjectId) =>
          enqueue(database, here, { merchantId, subjectId, sequence, url: `${erp.base}/${subjectId}/${sequence}` }),
        ),
      );
    }
    await erp.hears(60);
    await until(() => log.length === 120);
    for (const oid of invoices) {
      expect(log.filter((line) => line.includes(oid)).map((line) => line.replace(`/${oid}/`, ''))).toEqual([
        'begin 1',
        'end 1',
        'begin 2',
        'end 2',
        'begin 3',
        'end 3',
      ]);
    }
  });

  it('for a slow host do not delay the others', async () => {
    const slow = await erpUp();
    slow.answer = () => {};
    const quick = await erpUp();
    const callbacks = begin(database);
    await database.transaction(async (queries) => {
      for (let count = 0; count < 500; count += 1) {
        await enqueueCallback(
          queries,
          { random: systemRandom },
          {
            merchantId,
            subjectKind: 'invoice',
            subjectId: randomUUID(),
            sequence: 1,
            url: `${slow.base}/${count}`,
          },
        );
      }
    });
    callbacks.wake();
    await slow.hears(8);
    const committedAt = performance.now();
    for (let count = 1; count <= 20; count += 1) await enqueue(database, callbacks, { merchantId, url: `${quick.base}/${count}` });
    await quick.hears(20);
    expect((quick.heard.at(-1)?.atMs ?? 0) - committedAt).toBeLessThan(1_000);
    expect(slow.heard.length).toBe(8);
  });

  it('to a refused address end as failed attempts with the reason, and connect nowhere', async () => {
    const erp = await erpUp();
    const callbacks = begin(database, { allow: [], delaysS: [] });
    await enqueue(database, callbacks, { merchantId, url: `${erp.base}/cb` });
    await until(async () => (await states(callbacks))[0] === 'dead');
    const [dead] = await callbacks.list({ limit: 1 });
    expect(await callbacks.attempts(dead?.id ?? '')).toMatchObject([
      { status: null, error: expect.stringContaining('not public (loopback)') },
    ]);
    expect(erp.heard).toEqual([]);
  });

  it('are taken up at start without a wake', async () => {
    const erp = await erpUp();
    const idle = callbacksOn(database);
    await enqueue(database, idle, { merchantId, url: `${erp.base}/cb` });
    begin(database);
    await erp.hears(1);
  });
});

describe.each(engines)('kill -9 on %s', (engine) => {
  /** A database that a child process and then this one can open: SQLite takes one at a time. */
  async function sharedPlace(): Promise<{
    place: { url?: string; dataDir?: string };
    merchantId: string;
    reopen: () => Promise<Database>;
  }> {
    if (engine === 'postgres') {
      const database = await openTestDatabase('postgres');
      closing.push(() => database.close());
      return { place: database.place, merchantId: (await seedMerchant(database.queries)).id, reopen: async () => database };
    }
    const dataDir = mkdtempSync(join(tmpdir(), 'tillgate-killed-'));
    closing.push(async () => rmSync(dataDir, { recursive: true, force: true }));
    const open = () => openDatabase({ dataDir, role: 'gateway', clock: systemClock, logger: quietLogger });
    const first = await open();
    const merchantId = (await seedMerchant(first.queries)).id;
    await first.close();
    const reopen = async () => {
      const database = await open();
      closing.push(() => database.close());
      return database;
    };
    return { place: { dataDir }, merchantId, reopen };
  }

  async function child(work: 'commit' | 'send', details: object): Promise<ChildProcess> {
    const program = join(import.meta.dirname, 'killed-child.ts');
    const running = spawn(process.execPath, [program, JSON.stringify({ ...details, work })], { stdio: ['ignore', 'pipe', 'inherit'] });
    closing.push(async () => running.kill('SIGKILL'));
    await new Promise<void>((resolve, reject) => {
      running.stdout?.once('data', () => resolve());
      running.once('exit', (code) => reject(new Error(`The child ended with ${code}.`)));
    });
    return running;
  }

  function kill9(running: ChildProcess): Promise<void> {
    return new Promise((resolve) => {
      running.removeAllListeners('exit').once('exit', () => resolve());
      running.kill('SIGKILL');
    });
  }

  it('between commit and send loses nothing', async () => {
    const erp = await erpUp();
    const { place, merchantId, reopen } = await sharedPlace();
    await kill9(await child('commit', { place, merchantId, subjectId: randomUUID(), url: `${erp.base}/told` }));
    expect(erp.heard).toEqual([]);
    begin(await reopen());
    await erp.hears(1);
    expect(erp.heard.map((each) => each.url)).toEqual(['/told']);
  });

  it('in the middle of an attempt: the lease runs out and the callback is sent again under the same id', async () => {
    const erp = await erpUp();
    erp.answer = (_request, response) => {
      if (erp.heard.length > 1) response.end();
    };
    const { place, merchantId, reopen } = await sharedPlace();
    const killed = await child('send', { place, merchantId, subjectId: randomUUID(), url: `${erp.base}/told` });
    await erp.hears(1);
    await kill9(killed);
    const callbacks = begin(await reopen());
    await erp.hears(2);
    expect(erp.heard[1]?.headers['webhook-id']).toBe(erp.heard[0]?.headers['webhook-id']);
    await until(async () => (await callbacks.list({ limit: 1 }))[0]?.state === 'delivered');
  });
});
