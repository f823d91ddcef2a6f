// Loaded into a gateway under test before its own code (`node --import`, also in the SQLite writer thread): watches the statements of
// the database drivers and the sockets, and kills the process with SIGKILL at the moment named in the environment.
import { Socket } from 'node:net';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import pg from 'pg';
import { placeOf } from '../../simulation/statement-places.ts';
import { OneSync } from '../../src/database/postgres/one-sync.ts';
import { momentOf } from './moments.ts';

const moment = momentOf(process.env['TILLGATE_TEST_DIE_AT'] ?? '');
let toGo = Number(process.env['TILLGATE_TEST_DIE_AT_TIME'] ?? 1);

function come(): void {
  toGo -= 1;
  if (toGo !== 0) return;
  process.kill(process.pid, 'SIGKILL');
  // The kernel may stop the other threads a moment later; this one must not continue.
  for (;;);
}

/** One connection: the statements of its open transaction, and whether its commit is the moment. */
function createWatch() {
  let open: string[] | undefined;
  const isMoment = (text: string) => 'commit' in moment && madeTrue(text).some((place) => moment.commit.test(place));
  function madeTrue(text: string): string[] {
    if (/^commit/i.test(text)) return open ?? [];
    const place = placeOf(text);
    return open === undefined && place !== undefined ? [place] : [];
  }
  return {
    before(text: string) {
      if (moment.when === 'before' && isMoment(text)) come();
    },
    after(text: string) {
      if (moment.when === 'after' && isMoment(text)) come();
      if (/^(begin|start transaction)/i.test(text)) open = [];
      else if (/^(commit|rollback)/i.test(text)) open = undefined;
      else {
        const place = placeOf(text);
        if (place !== undefined) open?.push(place);
      }
    },
  };
}

// SQLite: one connection in its thread.
const sqlite = createWatch();
const texts = new WeakMap<StatementSync, string>();
const { exec, prepare } = DatabaseSync.prototype;
const { all, run } = StatementSync.prototype;
DatabaseSync.prototype.exec = function watched(this: DatabaseSync, text) {
  sqlite.before(text);
  exec.call(this, text);
  sqlite.after(text);
};
DatabaseSync.prototype.prepare = function watched(this: DatabaseSync, text, ...rest) {
  const statement = prepare.call(this, text, ...rest);
  texts.set(statement, text);
  return statement;
};
function around<Result>(statement: StatementSync, work: () => Result): Result {
  const text = texts.get(statement) ?? '';
  sqlite.before(text);
  const result = work();
  sqlite.after(text);
  return result;
}
StatementSync.prototype.all = function watched(this: StatementSync, ...values: Parameters<typeof all>) {
  return around(this, () => all.apply(this, values));
} as typeof all;
StatementSync.prototype.run = function watched(this: StatementSync, ...values: Parameters<typeof run>) {
  return around(this, () => run.apply(this, values));
} as typeof run;

// PostgreSQL: a pool of connections.
const watches = new WeakMap<pg.Client, ReturnType<typeof createWatch>>();
const query = pg.Client.prototype.query as (...args: unknown[]) => unknown;
pg.Client.prototype.query = function watched(this: pg.Client, ...args: unknown[]) {
  const [asked] = args as [string | { text?: string } | OneSync];
  if (asked instanceof OneSync) {
    watchSync(asked);
    return query.apply(this, args);
  }
  const text = typeof asked === 'string' ? asked : (asked.text ?? '');
  const watch = watches.get(this) ?? createWatch();
  watches.set(this, watch);
  watch.before(text);
  const answered = query.apply(this, args);
  if (!(answered instanceof Promise)) return answered;
  return answered.then((result: unknown) => {
    watch.after(text);
    return result;
  });
} as typeof pg.Client.prototype.query;

/** Several statements with one Sync are a transaction (src/database/postgres/one-sync.ts). They are sent when their socket is uncorked. */
function watchSync(sync: OneSync): void {
  const watch = createWatch();
  const { submit, handleReadyForQuery } = OneSync.prototype;
  sync.submit = (connection) => {
    const texts = new Map(Object.entries(connection.parsedStatements));
    const { stream } = connection;
    watch.after('begin');
    return submit.call(sync, {
      parsedStatements: connection.parsedStatements,
      stream: {
        cork: () => stream.cork(),
        uncork() {
          watch.before('commit');
          stream.uncork();
        },
      },
      parse(message) {
        texts.set(message.name, message.text);
        connection.parse(message);
      },
      describe: (message) => connection.describe(message),
      bind(message) {
        watch.after(texts.get(message.statement) ?? '');
        connection.bind(message);
      },
      execute: (message) => connection.execute(message),
      sync: () => connection.sync(),
    });
  };
  sync.handleReadyForQuery = () => {
    watch.after('commit');
    handleReadyForQuery.call(sync);
  };
}

// Messages to devices, brokers and ERPs.
if ('write' in moment) {
  const { write } = Socket.prototype;
  Socket.prototype.write = function watched(this: Socket, ...args: unknown[]) {
    const [chunk] = args;
    const text = typeof chunk === 'string' ? chunk : chunk instanceof Uint8Array ? Buffer.from(chunk).toString('latin1') : '';
    const isMoment = moment.write.test(text);
    if (isMoment && moment.when === 'before') come();
    const result = (write as (...all: unknown[]) => boolean).apply(this, args);
    // A message is written in parts that are flushed together at the end of this turn.
    if (isMoment && moment.when === 'after') setImmediate(come);
    return result;
  };
}
