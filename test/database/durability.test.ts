// What was acknowledged is there after kill -9, nothing is half there, and the file is free for the next gateway at once.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { checkDurability } from '../../src/database/durability.ts';
import { type OpenOptions, openDatabase } from '../../src/database/open.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { emptyPlace, engines, memoryDatabase, openTestDatabase } from '../support/engines.ts';
import { quietLogger } from '../support/quiet-logger.ts';

function startChild(place: object): ChildProcess {
  const script = fileURLToPath(new URL('./writing-child.ts', import.meta.url));
  return spawn(process.execPath, [script, JSON.stringify(place)], { stdio: ['ignore', 'pipe', 'inherit'] });
}

/** Kills the child once it has acknowledged that many rows, and returns all that it had acknowledged. */
async function killAfter(child: ChildProcess, rows: number): Promise<string[]> {
  const acknowledged: string[] = [];
  const lines = createInterface({ input: child.stdout ?? expect.fail() });
  const exited = once(child, 'exit');
  for await (const line of lines) {
    acknowledged.push(line);
    if (acknowledged.length === rows) child.kill('SIGKILL');
  }
  await exited;
  return acknowledged;
}

describe.each(engines)('kill -9 on %s', (engine) => {
  it('loses no acknowledged row and leaves no half transaction', async () => {
    const place = await emptyPlace(engine);
    const options: OpenOptions = { ...place.options, role: 'gateway', clock: systemClock, logger: quietLogger };
    for (const rows of [1, 40, 400]) {
      const acknowledged = await killAfter(startChild(place.options), rows);
      expect(acknowledged.length).toBeGreaterThanOrEqual(rows);
      // At once: the dead process holds nothing any more.
      const database = await openDatabase(options);
      const found = await database.queries.selectFrom('audit_log').select(['subject', 'action']).execute();
      const first = new Set(found.filter((row) => row.action === 'write').map((row) => row.subject));
      const second = new Set(found.filter((row) => row.action === 'second half').map((row) => row.subject));
      expect(acknowledged.filter((subject) => !first.has(subject))).toEqual([]);
      expect([...first].filter((subject) => Number(subject) % 3 === 0).sort()).toEqual([...second].sort());
      await database.queries.deleteFrom('audit_log').execute();
      await database.close();
    }
    await place.remove();
  });
});

describe('one gateway for one file', () => {
  it('refuses the second with a message that names the first, lets a reader in, and is free after kill -9', async () => {
    const place = await emptyPlace('sqlite');
    const options: OpenOptions = { ...place.options, role: 'gateway', clock: systemClock, logger: quietLogger };
    const child = startChild(place.options);
    await once(child.stdout ?? expect.fail(), 'data');
    await expect(openDatabase(options)).rejects.toThrow(new RegExp(`in use by process ${child.pid} on .* since 20\\d\\d-.*Z. Stop`));
    const reader = await openDatabase({ ...options, role: 'reader' });
    expect((await reader.queries.selectFrom('audit_log').select('id').limit(1).execute()).length).toBe(1);
    await reader.close();
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
    const next = await openDatabase(options);
    await expect(openDatabase(options)).rejects.toThrow(`process ${process.pid} on`);
    await next.close();
    await (await openDatabase(options)).close();
    await place.remove();
  });

  it('has nothing to read before there is one', async () => {
    const place = await emptyPlace('sqlite');
    await expect(openDatabase({ ...place.options, role: 'reader', clock: systemClock, logger: quietLogger })).rejects.toThrow(
      /There is no database/,
    );
    await place.remove();
  });
});

describe('durability settings', () => {
  it('are correct for the file, and memory is reported as memory', async () => {
    const file = await openTestDatabase('sqlite');
    expect(await checkDurability(file)).toEqual([]);
    await file.close();
    const memory = await memoryDatabase(systemClock);
    expect(await checkDurability(memory)).toEqual([expect.stringContaining('in memory')]);
    await memory.close();
  });
});
