// The secrets for the MAC of QRs: created at the first start, stored in the database, shared by all gateways, rotated by adding one.
// Every secret stays valid for reading. A new one signs only when it is a minute old, so that every gateway has loaded it by then: a text
// that matches no known secret is checked against a list that is only seconds old.
import { createSecretKey } from 'node:crypto';
import type { Database, Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Random } from '../kernel/random.ts';
import { drawQr, invalidQr, type QrSecret, readQr, writeQr } from './qr-text.ts';

const signsAfterMs = 60_000;
/** Far shorter than signsAfterMs, but not zero, so that a flood of forged texts loads the database little. */
const freshForMs = 5_000;
const reloadAfterMs = 60_000;
const secretBytes = 32;

export interface QrSecrets {
  /** Creates the first secret if there is none. The first use calls it, too. */
  load(): Promise<void>;
  /** A new OID and its QR. */
  draw(): Promise<{ oid: string; qr: string; secretId: number }>;
  /** The QR of an invoice, as returned by Create. */
  write(oid: string, secretId: number): Promise<string>;
  /** The OID in a QR; errorCode 21 if its MAC is by no secret. */
  read(qr: string): Promise<string>;
  /** Adds a secret, in the caller's transaction, and returns its number. It signs after a minute. */
  rotate(queries: Queries): Promise<number>;
}

interface KnownSecrets {
  /** Oldest first, never empty. */
  list: { id: number; secret: QrSecret; maySign: boolean }[];
  loadedAtMs: number;
}

export function createQrSecrets(deps: { database: Database; clock: Clock; random: Random }): QrSecrets {
  const { database, clock, random } = deps;
  let known: KnownSecrets | undefined;
  let loading: Promise<KnownSecrets> | undefined;

  async function readList(queries: Queries): Promise<KnownSecrets['list']> {
    const rows = await queries
      .selectFrom('qr_secrets')
      .select(['id', 'secret'])
      .select((row) => row(row(nowMs, '-', row.ref('created_at')), '>=', signsAfterMs).as('may_sign'))
      .orderBy('id')
      .execute();
    // PostgreSQL returns a comparison as a boolean, SQLite as 0 or 1.
    return rows.map((row) => ({ id: row.id, secret: createSecretKey(row.secret, 'hex'), maySign: Boolean(row.may_sign) }));
  }

  async function insert(queries: Queries, id: number): Promise<boolean> {
    const made = await queries
      .insertInto('qr_secrets')
      .values({ id, secret: Buffer.from(random.bytes(secretBytes)).toString('hex'), created_at: nowMs })
      .onConflict((conflict) => conflict.column('id').doNothing())
      .returning('id')
      .executeTakeFirst();
    return made !== undefined;
  }

  async function loadNow(): Promise<KnownSecrets> {
    const loadedAtMs = clock.elapsed();
    let list = await readList(database.queries);
    if (list.length === 0) {
      await insert(database.queries, 1);
      list = await readList(database.queries);
    }
    known = { list, loadedAtMs };
    return known;
  }

  /** Concurrent callers share one read. */
  function reload(): Promise<KnownSecrets> {
    loading ??= loadNow().finally(() => {
      loading = undefined;
    });
    return loading;
  }

  async function notOlderThan(ageMs: number): Promise<KnownSecrets> {
    return known && clock.elapsed() - known.loadedAtMs <= ageMs ? known : await reload();
  }

  return {
    async load() {
      await reload();
    },

    async draw() {
      const { list } = await notOlderThan(reloadAfterMs);
      const signer = list.findLast((secret) => secret.maySign) ?? list[0];
      if (!signer) throw new Error('There is no QR secret.');
      return { ...drawQr(random, signer.secret), secretId: signer.id };
    },

    async write(oid, secretId) {
      const find = (secrets: KnownSecrets) => secrets.list.find((secret) => secret.id === secretId);
      const secret = find(known ?? (await reload())) ?? find(await reload());
      if (!secret) throw new Error(`The QR secret ${secretId} is not in the database.`);
      return writeQr(oid, secret.secret);
    },

    async read(qr) {
      const secretsOf = (secrets: KnownSecrets) => secrets.list.map(({ secret }) => secret);
      const current = known ?? (await reload());
      const oid = readQr(qr, secretsOf(current)) ?? readQr(qr, secretsOf(await notOlderThan(freshForMs)));
      if (oid === undefined) throw invalidQr();
      return oid;
    },

    async rotate(queries) {
      for (;;) {
        const newest = (await readList(queries)).at(-1)?.id ?? 0;
        // Another gateway may have taken the number in between.
        if (await insert(queries, newest + 1)) return newest + 1;
      }
    },
  };
}
