// A PostgreSQL primary with a streaming standby that every commit waits for, behind an address that moves: what a fail-over is made of.
// kill9 ends the primary as a power cut would; restart promotes the standby, moves the address, and makes the dead one the new standby.
import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from '../free-port.ts';
import { startTcpProxy } from '../tcp-proxy.ts';
import { until } from '../until.ts';
import { asPostgres, initialize, type PostgresServer, postgresBinaries, runPostgres } from './postgres.ts';
import { isRoot, ownDirectory, type ServerProcess } from './server-process.ts';
import { signalFamily } from './signal-family.ts';

interface Member {
  directory: string;
  port: number;
  process?: ServerProcess;
}

function signalAll({ directory }: Member, signal: NodeJS.Signals): void {
  const [server = ''] = readFileSync(join(directory, 'data/postmaster.pid'), 'utf8').split('\n');
  signalFamily(Number(server), signal);
}

export interface PostgresPair extends PostgresServer {
  /** It hears nothing until the next `restart`, which wakes it. */
  freezeStandby(): void;
}

export async function startPostgresPair(): Promise<PostgresPair> {
  const binaries = postgresBinaries();
  if (!binaries) throw new Error('PostgreSQL is not installed.');
  const root = mkdtempSync(join(tmpdir(), 'tillgate-pair-'));
  const owned = ownDirectory(root);
  if (isRoot) execFileSync('chown', ['postgres:postgres', root]);

  async function createMember(name: string): Promise<Member> {
    const directory = join(root, name);
    mkdirSync(directory, { mode: 0o700 });
    const { uid, gid } = statSync(root);
    chownSync(directory, uid, gid);
    return { directory, port: await freePort() };
  }
  const run = async (member: Member) => {
    member.process = await runPostgres(binaries, { ...member, settings: { max_connections: '100', wal_level: 'replica' } });
  };
  const ask = async <Row extends pg.QueryResultRow>({ port }: Member, text: string): Promise<Row[]> => {
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres' });
    await client.connect();
    try {
      return (await client.query<Row>(text)).rows;
    } finally {
      await client.end();
    }
  };

  let primary = await createMember('one');
  let standby = await createMember('two');

  /** Copies the primary, follows it, and only then is waited for: a primary without its standby would hold every commit. */
  async function follow(): Promise<void> {
    const data = join(standby.directory, 'data');
    rmSync(data, { recursive: true, force: true });
    const copy = [
      '-h',
      '127.0.0.1',
      '-p',
      String(primary.port),
      '-U',
      'postgres',
      '-D',
      data,
      '-R',
      '-X',
      'stream',
      '-c',
      'fast',
      '--no-sync',
    ];
    asPostgres([join(binaries ?? '', 'pg_basebackup'), ...copy], standby.directory);
    await run(standby);
    await ask(primary, `alter system set synchronous_standby_names = '*'`);
    await ask(primary, 'select pg_reload_conf()');
    await until(async () => (await ask(primary, `select 1 from pg_stat_replication where sync_state = 'sync'`)).length > 0);
  }

  initialize(binaries, primary.directory);
  await run(primary);
  await follow();
  const proxy = await startTcpProxy([primary.port]);

  return {
    url: `postgres://postgres@127.0.0.1:${proxy.port}/postgres`,
    port: proxy.port,
    async kill9() {
      await primary.process?.kill9();
    },
    freezeStandby: () => signalAll(standby, 'SIGSTOP'),
    async restart() {
      await primary.process?.kill9();
      signalAll(standby, 'SIGCONT');
      [primary, standby] = [standby, primary];
      // Its own copy of the settings: whoever follows it now does not exist yet.
      await ask(primary, 'select pg_promote(true, 30)');
      await ask(primary, 'alter system reset synchronous_standby_names');
      await ask(primary, 'select pg_reload_conf()');
      proxy.moveTo([primary.port]);
      await follow();
    },
    async stop() {
      await proxy.close();
      await Promise.all([primary.process?.kill9(), standby.process?.kill9()]);
      owned.remove();
    },
  };
}
