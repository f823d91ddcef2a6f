// Databases for processes that are measured: nothing removes them, their server ends with the run.
import { randomUUID } from 'node:crypto';
import { Client } from 'pg';

/** An empty database beside the one that the address names. */
export async function createDatabase(postgresUrl: string): Promise<string> {
  const name = `bench_${randomUUID().replaceAll('-', '')}`;
  const client = new Client({ connectionString: postgresUrl });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  const address = new URL(postgresUrl);
  address.pathname = `/${name}`;
  return address.toString();
}
