// Authentication of users: by e-mail and password (and a one-time code), or again within a session. Attempts are queued and counted
// (tries.ts). The transaction that opens the session checks the result again: a password changed, a user disabled or a code used in between
// does not grant a sign-in.

import { sql } from 'kysely';
import type { Database, Queries } from '../../database/database.ts';
import { lockRows, nowMs } from '../../database/dialect.ts';
import type { Shared } from '../../database/shared-deps.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import { writeAudit } from '../audit.ts';
import { hashPassword, isPassword, matchPassword } from './passwords.ts';
import { actorNamed } from './session-keeper.ts';
import { endSession, insertSession, type NewSession, type Origin, rotateSession } from './sessions.ts';
import { findStep } from './totp.ts';
import type { Trier, Tries, Verdict } from './tries.ts';
import { siblingHash, type UserRow } from './users.ts';

export interface SignInRequest {
  /** Normalised. */
  email: string;
  password: string;
  code?: string | undefined;
  /** The browser's previous session, which ends. */
  earlierSessionId?: string | undefined;
  /** The user who signed in there before, by the browser's cookie. */
  browserOf?: string | undefined;
}

export type SignedIn = { needsCode: true } | { userId: string; session: NewSession };

interface Deps extends Pick<Shared, 'database' | 'random'> {
  tries: Tries;
}

const wrongLogin = () => new GatewayError('Invalid_API_Key', 'The e-mail or the password is wrong.', { httpStatus: 401 });
export const wrongCode = () =>
  new GatewayError('Invalid_API_Key', 'The code is wrong, too old or was used; wait for the next one.', { httpStatus: 401 });
const wrong = <Result>(error: GatewayError): Verdict<Result> => ({ is: 'wrong', error });

/** The current row, locked; undefined if the password has changed or the user may not sign in. */
async function lockProven({ engine }: Database, queries: Queries, proven: UserRow): Promise<UserRow | undefined> {
  const row = await lockRows(engine, queries.selectFrom('users').selectAll().where('id', '=', proven.id)).executeTakeFirst();
  return row && row.disabled_at === null && row.password_hash === proven.password_hash ? row : undefined;
}

/** Uses up the code; false if it is not valid. The row is locked, so the same code cannot be used twice. */
export async function takeCode(queries: Queries, user: UserRow, code: string): Promise<boolean> {
  const { now } = await queries.selectNoFrom(nowMs.as('now')).executeTakeFirstOrThrow();
  const step = user.totp_secret === null ? undefined : findStep(user.totp_secret, code, now, user.totp_last_step);
  if (step === undefined) return false;
  await queries.updateTable('users').set({ totp_last_step: step }).where('id', '=', user.id).execute();
  return true;
}

/** The accounts of an e-mail that may sign in, an operator's first: if two have the same password, the first is used. */
function accountsOf(queries: Queries, email: string): Promise<UserRow[]> {
  return queries
    .selectFrom('users')
    .selectAll()
    .where('email', '=', email)
    .where('password_hash', 'is not', null)
    .where('disabled_at', 'is', null)
    .orderBy(sql`case when merchant_id is null then 0 else 1 end`)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

export async function signIn({ database, random, tries }: Deps, request: SignInRequest, origin: Origin): Promise<SignedIn> {
  const { email, password, code, browserOf } = request;
  const all = await accountsOf(database.queries, email);
  const owner = all.find(({ id }) => id === browserOf);
  const known = owner?.id;
  const knownBy = owner && `browser ${owner.id}`;
  const accounts = all.filter((account) => account !== owner).map(({ id }) => id);
  const trier = { address: origin.address, email, knownBy, merchantId: owner?.merchant_id, accounts };
  return tries.attempt<SignedIn>(trier, async (tried) => {
    const found = (await accountsOf(database.queries, email)).filter(({ id }) => id === known || tried.includes(id));
    const matches = await matchPassword(
      found.map((account) => account.password_hash),
      password,
    );
    const matching = found.filter((_account, at) => matches[at] === true);
    /** Every account but the matching ones; of those, the user whose code is wrong. */
    const missed = (wrongId?: string) => {
      const isMissed = (id: string) => id === wrongId || !matching.some((one) => one.id === id);
      return { missed: tried.filter(isMissed), missedKnown: known !== undefined && isMissed(known) };
    };
    const [user] = matching;
    if (!user) return wrong(wrongLogin());
    if (user.totp_secret !== null && code === undefined) return { is: 'right', result: { needsCode: true }, ...missed() };
    return await database.transaction<Verdict<SignedIn>>(async (queries) => {
      const current = await lockProven(database, queries, user);
      if (!current) return wrong(wrongLogin());
      if (current.totp_secret !== null && !(await takeCode(queries, current, code ?? ''))) {
        return { ...wrong(wrongCode()), ...missed(current.id) };
      }
      if (request.earlierSessionId !== undefined) await endSession(queries, request.earlierSessionId);
      const session = await insertSession(queries, random, current.id, origin);
      await writeAudit(queries, {
        actor: actorNamed(current),
        action: 'session.start',
        subject: current.id,
        merchantId: current.merchant_id,
        detail: { sessionId: session.id, address: origin.address },
      });
      return { is: 'right', result: { userId: current.id, session }, ...missed() };
    });
  });
}

export interface Proof {
  password?: string | undefined;
  code?: string | undefined;
}

/** A user who confirms within a session. */
export interface Prover {
  userId: string;
  address: string;
}

type Then<Result> = (queries: Queries, user: UserRow) => Promise<Result>;

async function proverOf({ database }: Deps, { userId, address }: Prover): Promise<{ user: UserRow; trier: Trier }> {
  const user = await database.queries.selectFrom('users').selectAll().where('id', '=', userId).executeTakeFirst();
  if (!user) throw sessionOver();
  return { user, trier: { address, email: user.email, knownBy: `session ${userId}`, merchantId: user.merchant_id } };
}

const wrongPassword = () =>
  new GatewayError('Invalid_API_Key', 'The password is wrong.', { httpStatus: 401, fields: { needsConfirmation: true } });

/** Checks the password or a code again within a session. `then` runs in the transaction that uses up the proof. */
export async function proveAgain<Result>(deps: Deps, prover: Prover, { password, code }: Proof, then: Then<Result>): Promise<Result> {
  const { database, tries } = deps;
  const { user, trier } = await proverOf(deps, prover);
  return tries.attempt<Result>(trier, async () => {
    if (password !== undefined && !(await isPassword(user.password_hash, password))) return wrong(wrongPassword());
    return await database.transaction<Verdict<Result>>(async (queries) => {
      const current = await lockProven(database, queries, user);
      if (!current) throw sessionOver();
      if (password === undefined && !(await takeCode(queries, current, code ?? ''))) return wrong(wrongCode());
      return { is: 'right', result: await then(queries, current) };
    });
  });
}

/** As proveAgain, by the password; the new password is hashed only if the current one was correct. */
export async function proveAndHash<Result>(
  deps: Deps,
  prover: Prover,
  passwords: { current: string; next: string },
  then: (queries: Queries, user: UserRow, passwordHash: string) => Promise<Result>,
): Promise<Result> {
  const { database, random, tries } = deps;
  const { user, trier } = await proverOf(deps, prover);
  const tryIt = async (): Promise<Verdict<Result>> => {
    if (!(await isPassword(user.password_hash, passwords.current))) return wrong(wrongPassword());
    const passwordHash = await hashPassword(random, passwords.next, await siblingHash(database.queries, user));
    return await database.transaction<Verdict<Result>>(async (queries) => {
      const current = await lockProven(database, queries, user);
      if (!current) throw sessionOver();
      return { is: 'right', result: await then(queries, current, passwordHash) };
    });
  };
  return tries.attempt<Result>(trier, tryIt, 2);
}

export function sessionOver(): GatewayError {
  return new GatewayError('Invalid_API_Key', 'The session is over; sign in again.', { httpStatus: 401 });
}

/** Gives the session a new token, and 15 minutes without another confirmation. */
export function confirmSession(deps: Deps, who: { userId: string; sessionId: string; address: string }, proof: Proof): Promise<NewSession> {
  return proveAgain(deps, who, proof, async (queries, user) => {
    const session = await rotateSession(queries, deps.random, who.sessionId);
    if (!session) throw sessionOver();
    await writeAudit(queries, {
      actor: actorNamed(user),
      action: 'session.confirm',
      subject: user.id,
      merchantId: user.merchant_id,
      detail: { sessionId: session.id, address: who.address },
    });
    return session;
  });
}
