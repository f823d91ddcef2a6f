// The worker's logic without its thread: what shares a transaction, and who hears what when it fails.
import { describe, expect, it } from 'vitest';
import { openSqlite, type SqliteConnection } from '../../../src/database/sqlite/connection.ts';
import { RequestRunner, type RunRequest, type SqliteRequest } from '../../../src/database/sqlite/requests.ts';

function setUp(change: (connection: SqliteConnection) => Partial<SqliteConnection> = () => ({})) {
  const executed: string[] = [];
  let real: SqliteConnection | undefined;
  const runner = new RequestRunner((now) => {
    const connection = openSqlite({ path: ':memory:', readOnly: false, now });
    connection.exec('create table t (n integer primary key check (n > 0)) strict');
    real = connection;
    const recording: SqliteConnection = {
      run: (sql, parameters) => connection.run(sql, parameters),
      exec(sql) {
        executed.push(sql);
        connection.exec(sql);
      },
      get isTransaction() {
        return connection.isTransaction;
      },
      isReadOnly: false,
      close: () => connection.close(),
    };
    const changed = change(recording);
    return {
      ...changed,
      run: changed.run ?? recording.run,
      exec: changed.exec ?? recording.exec,
      close: recording.close,
      isReadOnly: false,
      get isTransaction() {
        return connection.isTransaction;
      },
    };
  });
  return { runner, executed, numbers: () => real?.run('select n from t order by n', []).rows.map((row) => row['n']) };
}

let lastId = 0;
const insert = (n: number, place: RunRequest['place'] = 'alone'): RunRequest => {
  lastId += 1;
  return { id: lastId, kind: 'run', place, sql: 'insert into t values (?)', parameters: [n], nowMs: 0 };
};
const script = (numbers: number[]): SqliteRequest => {
  lastId += 1;
  return { id: lastId, kind: 'script', statements: numbers.map((n) => ({ sql: 'insert into t values (?)', parameters: [n] })), nowMs: 0 };
};
const control = (kind: 'begin' | 'commit' | 'rollback'): SqliteRequest => {
  lastId += 1;
  return { id: lastId, kind };
};

describe('requests that arrive together', () => {
  it('share one transaction, and a failing one undoes only itself', () => {
    const { runner, executed, numbers } = setUp();
    const answers = runner.answer([insert(1), insert(-1), insert(2), insert(2)]);
    expect(answers.map((answer) => answer.error?.errcode)).toEqual([undefined, 275, undefined, 1555]);
    expect(executed).toEqual(['begin immediate', 'commit']);
    expect(numbers()).toEqual([1, 2]);
  });

  it('all fail when their COMMIT fails, and nothing of them stays', () => {
    let isBroken = true;
    const { runner, numbers } = setUp((connection) => ({
      exec(sql) {
        if (sql === 'commit' && isBroken) throw Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: 10 });
        connection.exec(sql);
      },
    }));
    expect(runner.answer([insert(1), insert(2)]).map((answer) => answer.error?.errcode)).toEqual([10, 10]);
    expect(numbers()).toEqual([]);
    isBroken = false;
    expect(runner.answer([insert(1), insert(2)]).every((answer) => answer.result)).toBe(true);
    expect(numbers()).toEqual([1, 2]);
  });

  it.each([
    ['once', 1, false],
    ['for good', Number.POSITIVE_INFINITY, true],
  ])(
    'survive a COMMIT that fails and a ROLLBACK that fails %s: all are answered, and a stuck runner reports it',
    (_times, failures, isStuck) => {
      let failed = 0;
      const { runner, numbers } = setUp((connection) => ({
        exec(sql) {
          if (sql === 'commit' && failed === 0) throw new Error('disk full');
          if (sql === 'rollback' && failed < failures) {
            failed += 1;
            throw new Error('disk full, still');
          }
          connection.exec(sql);
        },
      }));
      expect(runner.answer([insert(1), insert(2), control('begin'), control('rollback')]).map(({ error }) => error === undefined)).toEqual(
        isStuck ? [false, false, false, false] : [false, false, true, true],
      );
      expect(runner.stuck?.message).toBe(isStuck ? 'disk full, still' : undefined);
      expect(runner.answer([insert(3)])[0]?.error === undefined).toBe(!isStuck);
      if (!isStuck) expect(numbers()).toEqual([3]);
    },
  );

  it('of a transaction whose ROLLBACK fails for good mark the runner as stuck, instead of failing all later ones for ever', () => {
    const { runner } = setUp((connection) => ({
      exec(sql) {
        if (sql === 'rollback') throw new Error('no');
        connection.exec(sql);
      },
    }));
    expect(runner.answer([control('begin'), insert(1, 'in-transaction')]).every(({ error }) => error === undefined)).toBe(true);
    expect(runner.stuck).toBeUndefined();
    expect(runner.answer([control('rollback')])[0]?.error?.message).toBe('no');
    expect(runner.stuck?.message).toBe('no');
  });

  it('all fail when SQLite rolls their transaction back itself, also those that had succeeded', () => {
    const { runner, numbers } = setUp((connection) => ({
      run(sql, parameters) {
        if (parameters[0] !== 2) return connection.run(sql, parameters);
        connection.exec('rollback');
        throw Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 });
      },
    }));
    expect(runner.answer([insert(1), insert(2), insert(3)]).map((answer) => answer.error?.errcode)).toEqual([13, 13, 13]);
    expect(numbers()).toEqual([]);
  });

  it('may be scripts, each all or nothing and at one moment of the clock, in one transaction with the others', () => {
    const { runner, executed, numbers } = setUp();
    const answers = runner.answer([insert(1), script([2, 3]), script([4, -1]), insert(5), script([6, 5])]);
    expect(answers.map(({ error }) => error?.errcode)).toEqual([undefined, undefined, 275, undefined, 1555]);
    expect(answers[1]?.results?.map(({ changes }) => changes)).toEqual([1, 1]);
    expect(executed.filter((sql) => !sql.includes('script'))).toEqual(['begin immediate', 'commit']);
    expect(numbers()).toEqual([1, 2, 3, 5]);
    lastId += 1;
    const readClock = { sql: 'select now_ms() as at', parameters: [] };
    const [read] = runner.answer([{ id: lastId, kind: 'script', statements: [readClock, readClock], nowMs: 17 }]);
    expect(read?.results?.map(({ rows }) => rows)).toEqual([[{ at: 17 }], [{ at: 17 }]]);
  });

  it('keep what they wrote when a script failed before them and another cannot even begin', () => {
    let savepoints = 0;
    const { runner, numbers } = setUp((connection) => ({
      exec(sql) {
        if (sql === 'savepoint script') savepoints += 1;
        if (sql === 'savepoint script' && savepoints === 2) throw new Error('out of memory');
        connection.exec(sql);
      },
    }));
    const answers = runner.answer([script([1, -1]), insert(2), script([3])]);
    expect(answers.map(({ error }) => error === undefined)).toEqual([false, true, false]);
    expect(numbers()).toEqual([2]);
  });

  it('fail with a script that cannot be undone, and nothing of them stays', () => {
    const { runner, numbers } = setUp((connection) => ({
      exec(sql) {
        if (sql === 'rollback to script') throw new Error('disk full');
        connection.exec(sql);
      },
    }));
    expect(runner.answer([insert(1), script([2, -1]), insert(3)]).every(({ error }) => error !== undefined)).toBe(true);
    expect(numbers()).toEqual([]);
    expect(runner.answer([script([4])])[0]?.error).toBeUndefined();
    expect(numbers()).toEqual([4]);
  });

  it('stay outside a transaction that arrives among them', () => {
    const { runner, executed, numbers } = setUp();
    const requests = [insert(1), insert(2), control('begin'), insert(3, 'in-transaction'), control('rollback'), insert(4)];
    expect(runner.answer(requests).map((answer) => answer.id)).toEqual(requests.map((request) => request.id));
    expect(executed).toEqual(['begin immediate', 'commit', 'begin immediate', 'rollback']);
    expect(numbers()).toEqual([1, 2, 4]);
  });

  it('are refused inside a transaction that is not theirs, and a COMMIT without a transaction is no success', () => {
    const { runner, numbers } = setUp();
    runner.answer([control('begin')]);
    expect(runner.answer([insert(1), insert(2), script([3])]).every((answer) => answer.error)).toBe(true);
    runner.answer([control('rollback')]);
    const [statement, commit] = runner.answer([insert(3, 'in-transaction'), control('commit')]);
    expect(statement?.error).toBeDefined();
    expect(commit?.error).toBeDefined();
    expect(numbers()).toEqual([]);
  });
});
