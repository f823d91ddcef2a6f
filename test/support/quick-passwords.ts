// Passwords that cost a test little: argon2 as it is configured takes 40 ms of processor time for each, and the tests of people make some
// hundreds of them. Less memory is worked through, and the answer still comes after a while, so that two calls at once overlap as they do
// otherwise. The text that is kept says the same. test/access/people/passwords.test.ts has the real work.
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { afterAll, beforeAll } from 'vitest';

const real = crypto.argon2;
const takesMs = 10;

const quick: typeof real = (algorithm, parameters, done) =>
  real(algorithm, { ...parameters, memory: 64, passes: 1 }, (error, tag) => setTimeout(() => done(error, tag), takesMs));

function set(argon2: typeof real): void {
  crypto.argon2 = argon2;
  syncBuiltinESMExports();
}

/** For all tests of the file that calls it. */
export function useQuickPasswords(): void {
  beforeAll(() => set(quick));
  afterAll(() => set(real));
}
