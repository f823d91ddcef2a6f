// Changes of a user's own account: the password, one-time codes on and off.
import { nowMs } from '../../database/dialect.ts';
import type { Role } from '../../http/viewer.ts';
import { GatewayError, invalidRequest } from '../../kernel/error-codes.ts';
import { writeAudit } from '../audit.ts';
import { checkPassword } from './passwords.ts';
import type { PeopleDeps } from './people-deps.ts';
import { endSessionsOf, insertSession, type NewSession } from './sessions.ts';
import { proveAndHash, sessionOver } from './sign-in.ts';
import { findStep, newTotpSecret, totpUri } from './totp.ts';
import type { Tries } from './tries.ts';

/** The user of a session. */
export interface Person {
  userId: string;
  sessionId: string;
  actor: string;
  role: Role;
  address: string;
  agent: string;
}

interface Deps extends Pick<PeopleDeps, 'database' | 'random' | 'requiresTotp'> {
  tries: Tries;
  /** Called after a commit that ended sessions. */
  changed(): void;
}

export function createOwnAccount({ database, random, tries, requiresTotp, changed }: Deps) {
  return {
    /** Ends all sessions and an open link; the caller gets a new session. */
    async changePassword(person: Person, passwords: { current: string; next: string }): Promise<NewSession> {
      checkPassword('next', passwords.next);
      const session = await proveAndHash({ database, random, tries }, person, passwords, async (queries, user, passwordHash) => {
        await queries.updateTable('users').set({ password_hash: passwordHash }).where('id', '=', user.id).execute();
        await endSessionsOf(queries, user.id);
        await queries.deleteFrom('user_links').where('subject', '=', user.id).execute();
        await writeAudit(queries, { actor: person.actor, action: 'user.password', subject: user.id, merchantId: user.merchant_id });
        return insertSession(queries, random, user.id, person);
      });
      changed();
      return session;
    },

    /** The secret is shown once. It becomes active with the first correct code from an app. */
    async startTotp({ userId }: Person): Promise<{ secret: string; uri: string }> {
      const secret = newTotpSecret(random);
      const user = await database.queries
        .updateTable('users')
        .set({ totp_pending: secret })
        .where('id', '=', userId)
        .returning('email')
        .executeTakeFirst();
      if (!user) throw sessionOver();
      return { secret, uri: totpUri(secret, user.email) };
    },

    async confirmTotp(person: Person, code: string): Promise<void> {
      await database.transaction(async (queries) => {
        const user = await queries
          .selectFrom('users')
          .select(['id', 'totp_pending', 'merchant_id', nowMs.as('now')])
          .where('id', '=', person.userId)
          .executeTakeFirst();
        const step = user?.totp_pending == null ? undefined : findStep(user.totp_pending, code, user.now, null);
        if (!user || step === undefined) throw invalidRequest('code must be the one that the app shows now.');
        const { numUpdatedRows } = await queries
          .updateTable('users')
          .set({ totp_secret: user.totp_pending, totp_pending: null, totp_last_step: step })
          .where('id', '=', user.id)
          .where('totp_pending', '=', user.totp_pending)
          .executeTakeFirst();
        if (numUpdatedRows === 0n)
          throw new GatewayError('The_status_cannot_be_applied', 'Another secret was created in the meantime; begin again.');
        await writeAudit(queries, { actor: person.actor, action: 'user.totp-on', subject: user.id, merchantId: user.merchant_id });
      });
      changed();
    },

    /** Idempotent. */
    async removeTotp(person: Person): Promise<void> {
      if (requiresTotp && person.role === 'operator')
        throw new GatewayError('The_status_cannot_be_applied', 'Operators need one-time codes on this gateway (TILLGATE_REQUIRE_TOTP).');
      await database.transaction(async (queries) => {
        const user = await queries
          .updateTable('users')
          .set({ totp_secret: null, totp_pending: null })
          .where('id', '=', person.userId)
          .where('totp_secret', 'is not', null)
          .returning('merchant_id')
          .executeTakeFirst();
        if (!user) return;
        await writeAudit(queries, { actor: person.actor, action: 'user.totp-off', subject: person.userId, merchantId: user.merchant_id });
      });
    },
  };
}
