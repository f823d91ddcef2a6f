// The text in a QR [D20]: one version byte, the 16 bytes of the OID and 16 bytes of a MAC over both; 33 bytes are 44 Base64 characters.
// The OID is drawn again until the text has only letters and digits, so that it is valid as Base64, as Base64url and in a URL.
// The MAC covers the whole text: any change, cut or addition invalidates it.
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { GatewayError } from '../kernel/error-codes.ts';
import { bytesToUuid, uuidToBytes } from '../kernel/ids.ts';
import type { Random } from '../kernel/random.ts';

const version = 1;
const headBytes = 17;
const macBytes = 16;
const textPattern = /^[A-Za-z0-9]{44}$/;
/** The first 22 characters, which depend on the version and the OID alone. */
const headPattern = /^[A-Za-z0-9]{22}/;

/** A KeyObject is prepared once; from bare bytes, Node makes one at every use, which takes five times as long as the MAC. */
export type QrSecret = KeyObject | Uint8Array;

/** One text in four is usable; a random source that yields none is broken. */
const maxDraws = 1000;

export function writeQr(oid: string, secret: QrSecret): string {
  return sealed(headOf(oid), secret);
}

/** A new OID whose text has only letters and digits. */
export function drawQr(random: Random, secret: QrSecret): { oid: string; qr: string } {
  for (let draw = 0; draw < maxDraws; draw += 1) {
    const oid = random.uuid();
    const head = headOf(oid);
    if (!headPattern.test(head.toString('base64'))) continue;
    const qr = sealed(head, secret);
    if (textPattern.test(qr)) return { oid, qr };
  }
  throw new Error('The random source yielded no usable OID.');
}

/** The OID, if the MAC is by one of the secrets; otherwise undefined. errorCode 21 for a malformed text. */
export function readQr(text: string, secrets: readonly QrSecret[]): string | undefined {
  if (!textPattern.test(text)) throw invalidQr();
  const bytes = Buffer.from(text, 'base64');
  if (bytes[0] !== version) throw invalidQr();
  const head = bytes.subarray(0, headBytes);
  const mac = bytes.subarray(headBytes);
  const isOurs = secrets.some((secret) => timingSafeEqual(mac, macOf(head, secret)));
  return isOurs ? bytesToUuid(head.subarray(1)) : undefined;
}

/** The same message for every cause, so that a forger learns nothing. */
export function invalidQr(): GatewayError {
  return new GatewayError('Invalid_QR', 'This QR is not from this service, or it was altered.');
}

function headOf(oid: string): Buffer {
  return Buffer.concat([Uint8Array.of(version), uuidToBytes(oid)]);
}

function sealed(head: Uint8Array, secret: QrSecret): string {
  return Buffer.concat([head, macOf(head, secret)]).toString('base64');
}

function macOf(head: Uint8Array, secret: QrSecret): Uint8Array {
  return createHmac('sha256', secret).update(head).digest().subarray(0, macBytes);
}
