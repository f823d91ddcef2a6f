// Password hashing: argon2id in the PHC text form, so that each hash contains its parameters and they can be raised later. The salt is
// random for each e-mail. Node computes hashes outside the event loop; tries.ts bounds how many run at once.
import { type Argon2Parameters, argon2, timingSafeEqual } from 'node:crypto';
import { invalidRequest } from '../../kernel/error-codes.ts';
import type { Random } from '../../kernel/random.ts';
import { isCommonPassword } from './common-passwords.ts';

/** 19 MiB and two passes: the recommended minimum for servers, about 30 ms. */
const parameters = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };
const shortest = 12;
const longest = 256;

/** Throws Invalid_Request with the field's name. Only the length is required, and that the password is not a common one. */
export function checkPassword(field: string, password: string): string {
  const { length } = Array.from(password);
  if (length < shortest || length > longest) throw invalidRequest(`${field} must have ${shortest} to ${longest} characters.`);
  if (isCommonPassword(password))
    throw invalidRequest(`${field} is one of the passwords that are tried first; choose another, a sentence for example.`);
  return password;
}

function derive(password: string, salt: Uint8Array, { memory, passes, parallelism, tagLength }: typeof parameters): Promise<Buffer> {
  // Two keyboards may encode the same letter differently.
  const message = Buffer.from(password.normalize('NFKC'), 'utf8');
  const given: Argon2Parameters = { message, nonce: salt, memory, passes, parallelism, tagLength };
  return new Promise((resolve, reject) => {
    argon2('argon2id', given, (error, tag) => (error === null ? resolve(tag) : reject(error)));
  });
}

const plain = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64').replace(/=+/, '');

interface Recipe {
  /** Parameters and salt: the text before the tag. */
  prefix: string;
  salt: Uint8Array;
  own: typeof parameters;
}

const stored = /^(\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$)([A-Za-z0-9+/]+)$/;

function newRecipe(salt: Uint8Array): Recipe {
  const { memory, passes, parallelism } = parameters;
  return { prefix: `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${plain(salt)}$`, salt, own: parameters };
}

function recipeOf(hash: string): Recipe {
  const [, prefix, memory, passes, parallelism, salt = '', tag = ''] = stored.exec(hash) ?? [];
  if (prefix === undefined) throw new Error('A stored password hash has an unknown form.');
  const tagLength = Buffer.from(tag, 'base64').length;
  const own = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism), tagLength };
  return { prefix, salt: Buffer.from(salt, 'base64'), own };
}

async function hashBy({ prefix, salt, own }: Recipe, password: string): Promise<string> {
  return prefix + plain(await derive(password.slice(0, longest * 2), salt, own));
}

/** `sibling`: the hash of another account with the same e-mail. Both share a salt, so that sign-in computes one hash for both [D166]. */
export function hashPassword(random: Random, password: string, sibling?: string): Promise<string> {
  return hashBy(sibling === undefined ? newRecipe(random.bytes(16)) : recipeOf(sibling), password);
}

/** For an unknown e-mail: takes as long as a wrong password, so that the time reveals nothing. */
const unknownUserRecipe = newRecipe(Buffer.alloc(16));

function isEqual(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}

/** Which of the hashes match the password. Computes at least one hash, and one per distinct salt. */
export async function matchPassword(hashes: readonly (string | null)[], password: string): Promise<boolean[]> {
  const recipes = new Map(hashes.flatMap((hash) => (hash === null ? [] : [recipeOf(hash)])).map((recipe) => [recipe.prefix, recipe]));
  const made: string[] = [];
  for (const recipe of recipes.size === 0 ? [unknownUserRecipe] : recipes.values()) made.push(await hashBy(recipe, password));
  return hashes.map((hash) => hash !== null && made.some((one) => isEqual(one, hash)));
}

export async function isPassword(hash: string | null, password: string): Promise<boolean> {
  return (await matchPassword([hash], password))[0] === true;
}
