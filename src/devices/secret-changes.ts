// Secrets of devices where a broker keeps logins of its own (Mosquitto): the login and the row change together, in an order that tells
// no caller a secret that does not work, and pairing uses its code up only once the broker has the login [D104].
//
// A change takes the login in hand first (of two that do, the broker ends the earlier one), then reads the row, writes the login, commits
// the row if it is still as it was read, and has the broker confirm that no other change came between. If the process dies or the broker is gone
// - before the login is written: nothing has changed;
// - before the commit: the broker has a secret that no device got, and the device cannot log in there with its old one. The code is still
//   good, and the caller got no answer or an error: its repeat repairs it;
// - after the commit: the answer is lost, as with any broker; pairing is repeated with the same code, a new secret is asked for again. The old secret is
//   over from the commit on, whatever the broker says then: `onCommit` cuts off who came in with it.
// A process that stood still, or a message that comes late, finds its connection ended and writes nothing.
// Disabling is the other way round: the row first, because from then on the device is sent nothing; then the login, which may be repeated.
import type { Database } from '../database/database.ts';
import { GatewayError } from '../kernel/error-codes.ts';
import type { DeviceLogins, HeldLogin } from '../link/brokers/mosquitto-logins.ts';
import { exchangeCode, findByCode, type PairedDevice } from './pairing.ts';
import { readLoginState, replaceSecret } from './registry.ts';

export interface SecretChanges {
  pair(deviceId: string, code: string, secret: string): Promise<PairedDevice>;
  replace(actor: string, deviceId: string, secret: string): Promise<void>;
  /** After the device was disabled or enabled: its login follows the row as it is now. */
  follow(deviceId: string): Promise<void>;
}

export interface SecretChangesDeps {
  database: Database;
  logins: DeviceLogins;
  /** The device has a new secret here. */
  onCommit(deviceId: string): void;
}

export function createSecretChanges({ database, logins, onCommit }: SecretChangesDeps): SecretChanges {
  const { queries } = database;

  /** `committed`: from then on another sentence is true. */
  async function change<Result>(
    deviceId: string,
    sentences: { before: string; after: string },
    work: (login: HeldLogin, committed: () => void) => Promise<Result>,
  ): Promise<Result> {
    let sentence = sentences.before;
    try {
      return await logins.change(deviceId, async (login) => {
        const result = await work(login, () => {
          sentence = sentences.after;
          onCommit(deviceId);
        });
        await login.confirm();
        return result;
      });
    } catch (error) {
      throw withSentence(error, sentence);
    }
  }

  return {
    pair: (deviceId, code, secret) =>
      change(
        deviceId,
        {
          before: 'The pairing code is still good: try again.',
          after: 'It is not certain that the login works; the pairing code is still good: try again.',
        },
        async (login, committed) => {
          // Another may have ended it until now.
          await findByCode(queries, code);
          const before = await readLoginState(queries, deviceId);
          await login.put(secret, false);
          const paired = await database.transaction((inside) => exchangeCode(inside, secret, code, before));
          committed();
          return paired;
        },
      ),

    replace: (actor, deviceId, secret) => {
      const again = 'Ask for a new secret again.';
      return change(deviceId, { before: again, after: again }, async (login, committed) => {
        const before = await readLoginState(queries, deviceId);
        await login.put(secret, before.isDisabled);
        await database.transaction((inside) => replaceSecret(inside, actor, deviceId, secret, before));
        committed();
      });
    },

    async follow(deviceId) {
      const { secretHash } = await readLoginState(queries, deviceId);
      if (secretHash === null) return;
      let isDisabled = true;
      const found = await logins
        .change(deviceId, async (login) => {
          ({ isDisabled } = await readLoginState(queries, deviceId));
          return login.setDisabled(isDisabled);
        })
        .catch((error: unknown) => {
          throw withSentence(
            error,
            'The device itself is as you asked, and a disabled one is sent nothing; only its login there is as before: do the same again.',
          );
        });
      if (found === 'unknown' && !isDisabled)
        throw new GatewayError(
          'The_status_cannot_be_applied',
          'The device is enabled, but Mosquitto has no login of it: give it a new secret, or pair it anew.',
        );
    },
  };
}

/** What the broker's failure means here; anything else says so itself. */
function withSentence(error: unknown, sentence: string): unknown {
  if (!(error instanceof GatewayError) || error.errorName !== 'Internal_error') return error;
  const { errorName, message, httpStatus, retryAfterS } = error;
  return new GatewayError(errorName, `${message} ${sentence}`, {
    httpStatus,
    ...(retryAfterS === undefined ? {} : { retryAfterS }),
    cause: error,
  });
}
