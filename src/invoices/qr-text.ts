// The text in a QR [D20]: one byte of version, the OID's 16 and 16 of a keyed MAC over both; 33 bytes are 44 characters of Base64, no padding.
// The OID is drawn again until the text has letters and digits alone; then it is Base64, Base64url and safe in a URL at once.
// All 264 bits count: whatever is changed, cut or added, the MAC no longer fits.
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { GatewayError } from '../kernel/error-codes.ts';
import { bytesToUuid, uuidToBytes } from '../kernel/ids.ts';
import type { Random } from '../kernel/random.ts';

const version = 1;
const headBytes = 17;
const macBytes = 16;
const textPattern = /^[A-Za-z0-9]{44}$/;
/** What the OID alone decides of the text: the 22 characters that lie within its bytes. */
const headPattern = /^[A-Za-z0-9]{22}/;

/** As a KeyObject it is prepared once; of bare bytes Node makes one at every use, which takes five times as long as the MAC. */
export type QrSecret = KeyObject | Uint8Array;

/** One text in four will do; a random source that never gives one is broken. */
const maxDraws = 1000;

export function writeQr(oid: string, secret: QrSecret): string {
  return sealed(headOf(oid), secret);
}

/** A fresh OID whose text is safe everywhere. */
export function drawQr(random: Random, secret: QrSecret): { oid: string; qr: string } {
  for (let draw = 0; draw < maxDraws; draw += 1) {
    const oid = random.uuid();
    const head = headOf(oid);
    if (!headPattern.test(head.toString('base64'))) continue;
    const qr = sealed(head, secret);
    if (textPattern.test(qr)) return { oid, qr };
  }
  throw new Error('The random source gave no usable OID.');
}

/** The OID, if one of the secrets made this text; undefined for a MAC of none of them; errorCode 21 for what no secret can have made. */
export function readQr(text: string, secrets: readonly QrSecret[]): string | undefined {
  if (!textPattern.test(text)) throw invalidQr();
  const bytes = Buffer.from(text, 'base64');
  if (bytes[0] !== version) throw invalidQr();
  const head = bytes.subarray(0, headBytes);
  const mac = bytes.subarray(headBytes);
  const isOurs = secrets.some((secret) => timingSafeEqual(mac, macOf(head, secret)));
  return isOurs ? bytesToUuid(head.subarray(1)) : undefined;
}

/** One sentence for all: a forger learns nothing from it. */
export function invalidQr(): GatewayError {
  return new GatewayError('Invalid_QR', 'This is no QR of this service, or it was altered.');
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
