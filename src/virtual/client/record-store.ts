// Durable storage of a device: records appended to a file of JSON lines, or in memory for the simulation. A resolved append is durable; an
// unresolved one may be stored or not, never in part.
import { type FileHandle, mkdir, open, readFile, rename, truncate } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { JsonObject } from '../../link/protocol.ts';

export interface StoredRecords {
  records: JsonObject[];
  /** A record in the middle cannot be read: a record before a readable one is lost, so the file cannot be trusted. */
  isDamaged: boolean;
}

export interface RecordStore {
  /** All appended records, in order; waits for appends in flight. */
  load(): Promise<StoredRecords>;
  append(record: JsonObject): Promise<void>;
  /** Replaces all records atomically. */
  replace(records: JsonObject[]): Promise<void>;
  close(): Promise<void>;
}

/** Keeps records in memory; a simulated power cut destroys the device, not this object. */
export function createMemoryStore(): RecordStore {
  let lines: string[] = [];
  return {
    load: async () => ({ records: lines.map((line) => JSON.parse(line)), isDamaged: false }),
    append: async (record) => {
      lines.push(JSON.stringify(record));
    },
    replace: async (records) => {
      lines = records.map((record) => JSON.stringify(record));
    },
    close: async () => {},
  };
}

interface Parsed extends StoredRecords {
  /** Number of bytes with whole, readable lines. */
  soundBytes: number;
}

// A power cut may leave a torn end of the file: half a line, or zeros. No append of it had resolved, so it is truncated.
function parseLines(bytes: Buffer): Parsed {
  const records: JsonObject[] = [];
  let soundBytes = 0;
  let start = 0;
  let sawBroken = false;
  for (let end = bytes.indexOf(10, start); end !== -1; end = bytes.indexOf(10, start)) {
    const record = parseRecord(bytes.toString('utf8', start, end));
    start = end + 1;
    if (!record) {
      sawBroken = true;
      continue;
    }
    if (sawBroken) return { records, isDamaged: true, soundBytes };
    records.push(record);
    soundBytes = start;
  }
  return { records, isDamaged: false, soundBytes };
}

function parseRecord(line: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

interface Waiting {
  line: string;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** Appends that arrive while the disk is busy share the next write and sync (group commit). */
export function createFileStore(path: string): RecordStore {
  let file: FileHandle | undefined;
  /** Appends that will share the next write; undefined: the next append starts a new batch. */
  let openBatch: Waiting[] | undefined;
  let failure: Error | undefined;
  // Serialises all operations on the file.
  let turn: Promise<unknown> = Promise.resolve();

  function inTurn<Result>(action: () => Promise<Result>): Promise<Result> {
    const result = turn.then(action);
    turn = result.catch(() => {});
    return result;
  }

  async function syncDirectory(): Promise<void> {
    const directory = await open(dirname(path), 'r');
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  }

  async function openForAppend(): Promise<FileHandle> {
    if (file) return file;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const bytes = await readIfThere(path);
    if (bytes) {
      const parsed = parseLines(bytes);
      if (!parsed.isDamaged && parsed.soundBytes < bytes.length) await truncate(path, parsed.soundBytes);
    }
    file = await open(path, 'a', 0o600);
    await file.sync();
    await syncDirectory();
    return file;
  }

  async function writeBatch(batch: Waiting[]): Promise<void> {
    if (openBatch === batch) openBatch = undefined;
    try {
      // After a failed write the end of the file is unknown: nothing more is appended.
      if (failure) throw failure;
      const handle = await openForAppend();
      await handle.appendFile(batch.map((entry) => `${entry.line}\n`).join(''));
      await handle.datasync();
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
      for (const entry of batch) entry.reject(error);
      return;
    }
    for (const entry of batch) entry.resolve();
  }

  return {
    load: () =>
      inTurn(async () => {
        const bytes = await readIfThere(path);
        if (!bytes) return { records: [], isDamaged: false };
        const { records, isDamaged } = parseLines(bytes);
        return { records, isDamaged };
      }),
    append: (record) =>
      new Promise((resolve, reject) => {
        const entry = { line: JSON.stringify(record), resolve, reject };
        if (openBatch) {
          openBatch.push(entry);
          return;
        }
        const batch = [entry];
        openBatch = batch;
        void inTurn(() => writeBatch(batch));
      }),
    replace(records) {
      // Appends after this call must be written after it.
      openBatch = undefined;
      return inTurn(async () => {
        await mkdir(dirname(path), { recursive: true, mode: 0o700 });
        const fresh = `${path}.new`;
        const handle = await open(fresh, 'w', 0o600);
        try {
          await handle.writeFile(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
          await handle.sync();
        } finally {
          await handle.close();
        }
        await file?.close();
        file = undefined;
        await rename(fresh, path);
        await syncDirectory();
      });
    },
    close: () =>
      inTurn(async () => {
        await file?.close();
        file = undefined;
      }),
  };
}

async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
