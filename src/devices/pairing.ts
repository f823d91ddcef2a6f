// Pairing [D34]: a short code, typed or scanned at the device, is exchanged for the device's id and secret.
// Invariants: one valid code per device, stored as a hash. An exchanged code stays valid until it expires or the device connects after the
// exchange (presence-keeper.ts ends it), so that a device whose answer was lost can repeat the exchange [D181]; each exchange ends the
// secret of the one before. A wrong, expired or used code gets the same answer, so that guesses reveal nothing.
import { writeAudit } from '../access/audit.ts';
import { hashSecret } from '../access/secrets.ts';
import type { Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import { GatewayError } from '../kernel/error-codes.ts';
import type { Random } from '../kernel/random.ts';
import { mqttTopics, queueNames } from '../link/protocol.ts';
import { noSuchDevice } from './registry.ts';

/** Crockford's base 32: without I, L, O and U, so that a code can be read aloud. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const codeLength = 8;

export interface PairingCode {
  /** "7QK2-M9TD": 40 random bits, shown this once. */
  pairingCode: string;
  pairingExpiresAtMs: number;
}

export function newCode(random: Random): string {
  const letters = Array.from(random.bytes(codeLength), (byte) => alphabet[byte % 32]);
  return `${letters.slice(0, 4).join('')}-${letters.slice(4).join('')}`;
}

/** Normalises a typed code: case, blanks, dashes and look-alike letters do not matter. */
export function readCode(typed: string): string {
  return typed.slice(0, 64).toUpperCase().replace(/[\s-]/g, '').replaceAll('O', '0').replace(/[IL]/g, '1');
}

/** Issues a new code for the device, which ends an older one. Call it inside a transaction. */
export async function issueCode(
  queries: Queries,
  random: Random,
  actor: string,
  deviceId: string,
  lifetimeMs: number,
): Promise<PairingCode> {
  const pairingCode = newCode(random);
  const device = await queries
    .selectFrom('devices')
    .select(['merchant_id as merchantId', 'disabled_at', nowMs.as('now')])
    .where('id', '=', deviceId)
    .executeTakeFirst();
  if (!device) throw noSuchDevice();
  if (device.disabled_at !== null)
    throw new GatewayError('The_status_cannot_be_applied', 'The device is disabled; enable it before pairing.');
  const pairingExpiresAtMs = device.now + lifetimeMs;
  await queries
    .updateTable('devices')
    .set({ pairing_hash: hashSecret(readCode(pairingCode)), pairing_expires_at: pairingExpiresAtMs, pairing_used_at: null })
    .where('id', '=', deviceId)
    .execute();
  const { merchantId } = device;
  await writeAudit(queries, { actor, action: 'device.pairing-code', subject: deviceId, merchantId, detail: { pairingExpiresAtMs } });
  return { pairingCode, pairingExpiresAtMs };
}

export interface PairedDevice {
  deviceId: string;
  secret: string;
  kind: 'terminal' | 'register';
  name: string;
  bank: string | undefined;
}

const wrongCode = () => new GatewayError('Record_not_exist', 'The code is wrong, has expired or was used before; ask for a new one.');

/** The device of the code, without using the code up. */
export async function findByCode(queries: Queries, typed: string): Promise<string> {
  const device = await queries
    .selectFrom('devices')
    .select('id')
    .where('pairing_hash', '=', hashSecret(readCode(typed)))
    .where('pairing_expires_at', '>', nowMs)
    .where('disabled_at', 'is', null)
    .executeTakeFirst();
  if (!device) throw wrongCode();
  return device.id;
}

/** Exchanges the code for this secret; with `before`, only if the device's secret has not changed since. Call it inside a transaction. */
export async function exchangeCode(
  queries: Queries,
  secret: string,
  typed: string,
  before?: { secretHash: string | null },
): Promise<PairedDevice> {
  const device = await queries
    .updateTable('devices')
    .set({ secret_hash: hashSecret(secret), pairing_used_at: nowMs })
    .where('pairing_hash', '=', hashSecret(readCode(typed)))
    .where('pairing_expires_at', '>', nowMs)
    .where('disabled_at', 'is', null)
    .$if(before !== undefined, (query) => query.where('secret_hash', 'is not distinct from', before?.secretHash ?? null))
    .returning(['id', 'merchant_id as merchantId', 'kind', 'name', 'bank'])
    .executeTakeFirst();
  if (!device) throw wrongCode();
  await writeAudit(queries, { actor: `device:${device.id}`, action: 'device.pair', subject: device.id, merchantId: device.merchantId });
  return { deviceId: device.id, secret, kind: device.kind, name: device.name, bank: device.bank ?? undefined };
}

/** The public addresses of the two channels. */
export interface ChannelAddresses {
  mqttUrl: string;
  queueUrl: string;
}

/** All that a device needs to connect. */
export function connectionGuide(deviceId: string, addresses: ChannelAddresses) {
  const isRabbitmq = /^amqps?:/.test(addresses.queueUrl);
  return {
    mqtt: {
      url: addresses.mqttUrl,
      clientId: deviceId,
      username: deviceId,
      topics: {
        commands: mqttTopics.commands(deviceId),
        answers: mqttTopics.answers(deviceId, '{replyTo}'),
        presence: mqttTopics.presence(deviceId),
      },
    },
    queue: {
      url: addresses.queueUrl,
      kind: isRabbitmq ? ('rabbitmq' as const) : ('websocket' as const),
      username: deviceId,
      ...(isRabbitmq && {
        commandsQueue: queueNames.commands(deviceId),
        answersExchange: queueNames.answersExchange,
        answerKey: queueNames.answerKey(deviceId, '{replyTo}'),
        presenceKey: queueNames.presenceKey(deviceId),
      }),
    },
  };
}
