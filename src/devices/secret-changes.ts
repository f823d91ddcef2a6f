// Secrets of devices if a broker has its own logins (Mosquitto): the login and the row change together, in an order in which no caller gets
// a secret that does not work, and the pairing code is used up only after the broker has the login [D104].
//
// A change first takes over the login (of two that do, the broker ends the earlier one), then reads the row, writes the login, commits the
// row if it has not changed since, and lets the broker confirm that no other change came in between. If the process or the broker dies
// - before the login is written: nothing has changed;
// - before the commit: the broker has a secret that no device got, and the device cannot log in there with its old one. The code is still
//   valid, and the caller got no answer or an error: a repeat repairs the login;
// - after the commit: the answer is lost, as with any broker; the caller pairs again with the same code, or requests a new secret again.
//   The old secret is invalid from the commit on, whatever the broker answers: `onCommit` disconnects devices that used it.
// After a pause of the process or a late message, the connection to the broker is ended, so nothing is written.
// Disabling works in the reverse order: the row first, because from then on nothing is sent to the device; then the login, which may be
// repeated.
import type { Database } from '../database/database.ts';
import { GatewayError } from '../kernel/error-codes.ts';
import type { DeviceLogins, HeldLogin } from '../link/brokers/mosquitto-logins.ts';
import { exchangeCode, findByCode, type PairedDevice } from './pairing.ts';
import { readLoginState, replaceSecret } from './registry.ts';

export interface SecretChangesDeps {
  database: Database;
  logins: DeviceLogins;
  /** The new secret of the device is committed. */
  onCommit(deviceId: string): void;
}

export function createSecretChanges({ database, logins, onCommit }: SecretChangesDeps) {
  const { queries } = database;

  /** `committed`: from then on, errors get the sentence `after`. */
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
    pair: (deviceId: string, code: string, secret: string): Promise<PairedDevice> =>
      change(
        deviceId,
        {
          before: 'The pairing code is still valid: try again.',
          after: 'It is not certain that the login works. The pairing code is still valid: try again.',
        },
        async (login, committed) => {
          // The code may have ended meanwhile.
          await findByCode(queries, code);
          const before = await readLoginState(queries, deviceId);
          await login.put(secret, false);
          const paired = await database.transaction((inside) => exchangeCode(inside, secret, code, before));
          committed();
          return paired;
        },
      ),

    replace(actor: string, deviceId: string, secret: string): Promise<void> {
      const again = 'Request a new secret again.';
      return change(deviceId, { before: again, after: again }, async (login, committed) => {
        const before = await readLoginState(queries, deviceId);
        await login.put(secret, before.isDisabled);
        await database.transaction((inside) => replaceSecret(inside, actor, deviceId, secret, before));
        committed();
      });
    },

    /** After the device was disabled or enabled: updates its login to the current row. */
    async follow(deviceId: string): Promise<void> {
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
            'The device was changed as requested, and a disabled one gets no commands. Only its login at the broker was not changed: repeat the request.',
          );
        });
      if (found === 'unknown' && !isDisabled)
        throw new GatewayError(
          'The_status_cannot_be_applied',
          'The device is enabled, but Mosquitto has no login for it. Give it a new secret, or pair it again.',
        );
    },
  };
}

/** Adds the consequence to a failure of the broker; other errors are unchanged. */
function withSentence(error: unknown, sentence: string): unknown {
  if (!(error instanceof GatewayError) || error.errorName !== 'Internal_error') return error;
  const { errorName, message, httpStatus, retryAfterS } = error;
  return new GatewayError(errorName, `${message} ${sentence}`, {
    httpStatus,
    ...(retryAfterS === undefined ? {} : { retryAfterS }),
    cause: error,
  });
}
