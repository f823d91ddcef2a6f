import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type PostgresServer, startPostgres } from './postgres.ts';

describe('PostgreSQL in tests', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  async function ask(text: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client(server.url);
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.end();
    }
  }

  it('syncs like a production server', async () => {
    expect(await ask("select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit")).toEqual([
      { fsync: 'on', commit: 'on' },
    ]);
  });

  it('keeps what was committed over kill -9 and a restart', async () => {
    await ask('create table kept (value text)');
    await ask("insert into kept values ('x')");
    await server.kill9();
    await expect(ask('select 1')).rejects.toThrow('ECONNREFUSED');
    await server.restart();
    expect(await ask('select value from kept')).toEqual([{ value: 'x' }]);
    await server.restart();
    expect(await ask('select value from kept')).toEqual([{ value: 'x' }]);
  });
});
