import { spawn } from 'node:child_process';
import { appendFile, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type JournalEntry, openJournal } from '../../../src/virtual/client/journal.ts';
import { createFileStore, type RecordStore } from '../../../src/virtual/client/record-store.ts';
import { seededRandom } from '../../support/seeded-random.ts';

const random = seededRandom(3);
let directory: string;
let path: string;
let stores: RecordStore[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tillgate-journal-'));
  path = join(directory, 'journal.jsonl');
});

afterEach(async () => {
  await Promise.all(stores.map((store) => store.close()));
  stores = [];
  await rm(directory, { recursive: true, force: true });
});

function entry(id: string, state: JournalEntry['state'] = 'ended'): JournalEntry {
  return { id, name: 'Pay', args: { amount: 1 }, replyTos: ['g'], takenAtMs: 1, answerByMs: 2, state, hasRun: true };
}

function open(keep?: number) {
  const store = createFileStore(path);
  stores.push(store);
  return openJournal({ store, random, ...(keep === undefined ? {} : { keep }) });
}

describe('the journal file', () => {
  it('comes back as it was, under the same journalId', async () => {
    const journal = await open();
    await journal.write(entry('a', 'taken'));
    await Promise.all([journal.write(entry('a', 'begun')), journal.write(entry('b', 'taken')), journal.write(entry('b'))]);
    const again = await open();
    expect(again.journalId).toBe(journal.journalId);
    expect(again.entries().map(({ id, state }) => [id, state])).toEqual([
      ['a', 'begun'],
      ['b', 'ended'],
    ]);
    expect(again.unfinished().map(({ id }) => id)).toEqual(['a']);
    expect(again.last()?.id).toBe('b');
  });

  it('has a new journalId whenever it starts empty', async () => {
    const first = await open();
    await first.write(entry('a'));
    await rm(path);
    const second = await open();
    expect(second.journalId).not.toBe(first.journalId);
    expect(second.find('a')).toBeUndefined();
  });

  it('tolerates a torn last line at every length, and goes on after it', async () => {
    const journal = await open();
    await journal.write(entry('a'));
    const sound = (await readFile(path)).length;
    await journal.write(entry('b'));
    const full = await readFile(path);
    for (let length = sound; length < full.length; length += 7) {
      await writeFile(path, full);
      await truncate(path, length);
      const torn = await open();
      expect(torn.journalId).toBe(journal.journalId);
      expect(torn.entries().map(({ id }) => id)).toEqual(['a']);
      await torn.write(entry('c'));
      expect((await open()).entries().map(({ id }) => id)).toEqual(['a', 'c']);
    }
  });

  it('tolerates zeros at the end, as some file systems leave them', async () => {
    const journal = await open();
    await journal.write(entry('a'));
    await appendFile(path, Buffer.alloc(300));
    const again = await open();
    expect(again.journalId).toBe(journal.journalId);
    await again.write(entry('b'));
    expect((await open()).entries()).toHaveLength(2);
  });

  it('counts as empty, under a new name, when a line in the middle is broken', async () => {
    const journal = await open();
    for (const id of ['a', 'b', 'c']) await journal.write(entry(id));
    const text = await readFile(path, 'utf8');
    await writeFile(path, text.replace('"id":"b"', '"id":"b'));
    const again = await open();
    expect(again.journalId).not.toBe(journal.journalId);
    expect(again.entries()).toEqual([]);
  });

  it('is compacted, keeps the newest and everything unfinished, and stays small', async () => {
    const journal = await open(10);
    await journal.write(entry('first', 'begun'));
    const writes: Promise<void>[] = [];
    for (let count = 0; count < 500; count += 1) writes.push(journal.write(entry(`n${count}`)));
    await Promise.all(writes);
    const again = await open(10);
    expect(again.journalId).toBe(journal.journalId);
    const ids = again.entries().map(({ id }) => id);
    expect(ids).toContain('first');
    for (let count = 490; count < 500; count += 1) expect(ids).toContain(`n${count}`);
    expect(ids.length).toBeLessThan(60);
  });

  it('refuses everything after a write that failed', async () => {
    const store = createFileStore(join(directory, 'missing\0name'));
    await expect(store.append({ id: 'a' })).rejects.toThrow();
    await expect(store.append({ id: 'b' })).rejects.toThrow();
  });
});

describe('kill -9', () => {
  it('loses no id for which the device had said accepted, and never half of one', async () => {
    for (let round = 0; round < 5; round += 1) {
      const said = await writeUntilKilled(20 + round * 15);
      const journal = await open(100_000);
      for (const id of said) expect(journal.find(id)?.id).toBe(id);
      expect(said.length).toBeGreaterThan(0);
    }
  }, 30_000);
});

/** Runs a child that journals an id and then says it, until it is killed; what it had said. */
function writeUntilKilled(afterLines: number): Promise<string[]> {
  const module = (name: string) => JSON.stringify(new URL(`../../../src/virtual/client/${name}`, import.meta.url).href);
  const program = `
    import { openJournal } from ${module('journal.ts')};
    import { createFileStore } from ${module('record-store.ts')};
    import { randomUUID, randomBytes } from 'node:crypto';
    const random = { uuid: randomUUID, bytes: randomBytes, fraction: Math.random };
    const journal = await openJournal({ store: createFileStore(${JSON.stringify(path)}), random, keep: 100000 });
    for (;;) {
      const entry = { id: randomUUID(), name: 'Pay', args: {}, replyTos: [], takenAtMs: 0, answerByMs: 0, state: 'taken', hasRun: true };
      await journal.write(entry);
      process.stdout.write(entry.id + '\\n');
    }`;
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.split('\n').length > afterLines) child.kill('SIGKILL');
    });
    child.once('error', reject);
    child.once('close', () => resolve(output.split('\n').slice(0, -1)));
  });
}
