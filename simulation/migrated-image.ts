// The database as the migrations leave it, made once for all days of a process: they take longer than some sales, and are tested elsewhere.
import { openDatabase } from '../src/database/open.ts';
import { createMemoryStorage } from '../src/database/sqlite/memory.ts';
import { quietLogger } from '../test/support/quiet-logger.ts';
import { createEventClock } from './event-clock.ts';

let image: Promise<Uint8Array> | undefined;

export function migratedImage(): Promise<Uint8Array> {
  image ??= migrateOnce();
  return image;
}

async function migrateOnce(): Promise<Uint8Array> {
  const storage = createMemoryStorage();
  await openDatabase({ inMemory: true, storage, role: 'gateway', clock: createEventClock(), logger: quietLogger });
  try {
    return storage.image();
  } finally {
    storage.close();
  }
}
