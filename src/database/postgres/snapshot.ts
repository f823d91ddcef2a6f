// Reads of one state in several rounds: a transaction that only reads, whose begin goes with the first round. Its end is not waited for.
import type { Read } from '../database.ts';
import { LostToAnother } from '../errors.ts';
import type { WatchStatement } from '../watched-dialect.ts';
import type { SyncingClient } from './client.ts';

const begin = { text: 'begin isolation level repeatable read read only', values: [] };
const end = [{ text: 'commit', values: [] }];
/** If statements were prepared for tables that have changed since, or were forgotten, the second try has another connection. */
const tries = 2;

export async function readSnapshot<Result>(
  connect: () => Promise<SyncingClient>,
  work: (read: Read) => Promise<Result>,
  watch?: WatchStatement,
): Promise<Result> {
  for (let at = 1; ; at += 1) {
    const reader = readerOn(await connect(), watch);
    try {
      return await work(reader.read);
    } catch (error) {
      if (!(error instanceof LostToAnother) || at === tries) throw error;
    } finally {
      reader.release();
    }
  }
}

function readerOn(client: SyncingClient, watch: WatchStatement | undefined) {
  let isBegun = false;
  let isFailed = false;

  const read: Read = async (statements) => {
    const listed = statements.map(({ sql: text, parameters: values }) => ({ text, values }));
    const sent = isBegun ? listed : [begin, ...listed];
    isBegun = true;
    const run = () => client.oneSync(sent);
    try {
      const results = await (watch ? watch(listed.map(({ text }) => text).join('; '), run) : run());
      return results.slice(sent.length - listed.length);
    } catch (error) {
      isFailed = true;
      throw error;
    }
  };

  return {
    read,
    release() {
      if (isFailed || !isBegun) return client.release(isFailed);
      // Not waited for: the next statement on this connection comes after it.
      void client.oneSync(end).then(
        () => client.release(),
        () => client.release(true),
      );
    },
  };
}
