// Randomness as a dependency: ids, secrets and jitter come from a Random that is passed in.

export interface Random {
  /** A version 4 UUID in lower case. */
  uuid(): string;
  bytes(count: number): Uint8Array;
  /** A number from 0 up to, not including, 1. */
  fraction(): number;
}
