// Proving who one is: by e-mail and password (and a one-time code), or once more within a session. Each try waits its turn and is counted
// (tries.ts); what was proven is checked again in the transaction that opens the session, so that a password that was changed, a user who
// was disabled or a code that was used in between does not let anybody in.
import type { Database, Queries } from '../../database/database.ts';
import { lockRows, nowMs } from '../../database/dialect.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import type { Random } from '../../kernel/random.ts';
import { writeAudit } from '../audit.ts';
import { isPassword } from './passwords.ts';
import { actorNamed } from './session-keeper.ts';
import { endSession, insertSession, type NewSession, type Origin, rotateSession } from './sessions.ts';
import { findStep } from './totp.ts';
import type { Tries, Verdict } from './tries.ts';
import type { UserRow } from './users.ts';

export interface SignInRequest {
  /** In one spelling. */
  email: string;
  password: string;
  code?: string | undefined;
  /** The session that the browser had: it ends. */
  earlierSessionId?: string | undefined;
}

export type SignedIn = { needsCode: true } | { userId: string; session: NewSession };

interface Deps {
  database: Database;
  random: Random;
  tries: Tries;
}

const wrongLogin = () => new GatewayError('Invalid_API_Key', 'The e-mail or the password is wrong.', { httpStatus: 401 });
const wrongCode = () =>
  new GatewayError('Invalid_API_Key', 'The code is wrong, too old or was used; wait for the next one.', { httpStatus: 401 });
const wrong = <Result>(error: GatewayError): Verdict<Result> => ({ is: 'wrong', error });

/** As it stands now, under a lock; undefined if the password is another by now, or the user may not come in. */
async function lockProven({ engine }: Database, queries: Queries, proven: UserRow): Promise<UserRow | undefined> {
  const row = await lockRows(engine, queries.selectFrom('users').selectAll().where('id', '=', proven.id)).executeTakeFirst();
  return row && row.disabled_at === null && row.password_hash === proven.password_hash ? row : undefined;
}

/** Uses the code up, or says that it is none of the good ones. The row is locked, so two of the same code cannot both count. */
async function takeCode(queries: Queries, user: UserRow, code: string): Promise<boolean> {
  const { now } = await queries.selectNoFrom(nowMs.as('now')).executeTakeFirstOrThrow();
  const step = user.totp_secret === null ? undefined : findStep(user.totp_secret, code, now, user.totp_last_step);
  if (step === undefined) return false;
  await queries.updateTable('users').set({ totp_last_step: step }).where('id', '=', user.id).execute();
  return true;
}

export function signIn({ database, random, tries }: Deps, request: SignInRequest, origin: Origin): Promise<SignedIn> {
  const { email, password, code } = request;
  return tries.attempt<SignedIn>({ address: origin.address, email }, async () => {
    const user = await database.queries.selectFrom('users').selectAll().where('email', '=', email).executeTakeFirst();
    const isRight = await isPassword(user?.password_hash, password);
    if (!user || !isRight || user.disabled_at !== null) return wrong(wrongLogin());
    if (user.totp_secret !== null && code === undefined) return { is: 'right', result: { needsCode: true } };
    return await database.transaction<Verdict<SignedIn>>(async (queries) => {
      const current = await lockProven(database, queries, user);
      if (!current) return wrong(wrongLogin());
      if (current.totp_secret !== null && !(await takeCode(queries, current, code ?? ''))) return wrong(wrongCode());
      if (request.earlierSessionId !== undefined) await endSession(queries, request.earlierSessionId);
      const session = await insertSession(queries, random, current.id, origin);
      await writeAudit(queries, {
        actor: actorNamed(current),
        action: 'session.start',
        subject: current.id,
        merchantId: current.merchant_id ?? undefined,
        detail: { sessionId: session.id, address: origin.address },
      });
      return { is: 'known', result: { userId: current.id, session } };
    });
  });
}

export interface Proof {
  password?: string | undefined;
  code?: string | undefined;
}

/** Within a session: the password or a code once more. `then` runs in the transaction that uses the proof up. */
export async function proveAgain<Result>(
  { database, tries }: Deps,
  user: { userId: string; address: string },
  proof: Proof,
  then: (queries: Queries, user: UserRow) => Promise<Result>,
): Promise<Result> {
  const row = await database.queries.selectFrom('users').selectAll().where('id', '=', user.userId).executeTakeFirst();
  if (!row) throw sessionOver();
  const trier = { address: user.address, email: row.email, isSignedIn: true, userId: row.id };
  return tries.attempt<Result>(trier, async () => {
    const { password, code } = proof;
    if (password !== undefined && !(await isPassword(row.password_hash, password))) {
      return wrong(new GatewayError('Invalid_API_Key', 'The password is wrong.', { httpStatus: 401, fields: { needsConfirmation: true } }));
    }
    return await database.transaction<Verdict<Result>>(async (queries) => {
      const current = await lockProven(database, queries, row);
      if (!current) throw sessionOver();
      if (password === undefined && !(await takeCode(queries, current, code ?? ''))) return wrong(wrongCode());
      return { is: 'right', result: await then(queries, current) };
    });
  });
}

export function sessionOver(): GatewayError {
  return new GatewayError('Invalid_API_Key', 'The session is over; sign in again.', { httpStatus: 401 });
}

/** A new token for the session, and 15 minutes in which nobody asks again. */
export function confirmSession(deps: Deps, who: { userId: string; sessionId: string; address: string }, proof: Proof): Promise<NewSession> {
  return proveAgain(deps, who, proof, async (queries) => {
    const session = await rotateSession(queries, deps.random, who.sessionId);
    if (!session) throw sessionOver();
    return session;
  });
}
