// Passwords as they are kept: argon2id in the usual text form, so that each hash carries its own parameters and they can be raised later.
// The work is Node's own and runs beside the event loop; how many run at once is held by tries.ts.
import { type Argon2Parameters, argon2, timingSafeEqual } from 'node:crypto';
import { invalidRequest } from '../../kernel/error-codes.ts';
import type { Random } from '../../kernel/random.ts';

/** 19 MiB and two passes: the least that is recommended for servers, about 30 ms. */
const parameters = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };
const shortest = 12;
const longest = 256;

/** Throws Invalid_Request, naming the field. Length is what makes guessing hard; nothing else is asked for. */
export function checkPassword(field: string, password: string): string {
  const { length } = Array.from(password);
  if (length < shortest || length > longest) throw invalidRequest(`${field} must have ${shortest} to ${longest} characters.`);
  return password;
}

function derive(password: string, salt: Uint8Array, { memory, passes, parallelism, tagLength }: typeof parameters): Promise<Buffer> {
  // The same letter may be typed in two ways on two keyboards.
  const message = Buffer.from(password.normalize('NFKC'), 'utf8');
  const given: Argon2Parameters = { message, nonce: salt, memory, passes, parallelism, tagLength };
  return new Promise((resolve, reject) => {
    argon2('argon2id', given, (error, tag) => (error === null ? resolve(tag) : reject(error)));
  });
}

const plain = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64').replace(/=+$/, '');

export async function hashPassword(random: Random, password: string): Promise<string> {
  const salt = random.bytes(16);
  const tag = await derive(password, salt, parameters);
  const { memory, passes, parallelism } = parameters;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${plain(salt)}$${plain(tag)}`;
}

/** For an e-mail that nobody has: it takes as long as a wrong password, so that the time tells nothing. */
const nobodys = `$argon2id$v=19$m=${parameters.memory},t=${parameters.passes},p=${parameters.parallelism}$${plain(Buffer.alloc(16))}$${plain(Buffer.alloc(32))}`;
const stored = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

export async function isPassword(hash: string | null | undefined, password: string): Promise<boolean> {
  const [, memory, passes, parallelism, salt = '', tag = ''] = stored.exec(hash ?? nobodys) ?? [];
  const expected = Buffer.from(tag, 'base64');
  if (expected.length === 0) throw new Error('A stored password is not in the form that this program writes.');
  const own = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism), tagLength: expected.length };
  const given = await derive(password.slice(0, longest * 2), Buffer.from(salt, 'base64'), own);
  return timingSafeEqual(given, expected) && hash != null;
}
