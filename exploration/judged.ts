import type { Counter, Move } from './moves.ts';
import type { State, World } from './world.ts';

export interface Judged {
  before: State;
  after: State;
  world: World;
  move: Move;
  count: Counter;
}

/** Undefined: not interesting here. True: interesting, and it holds. A text: what is wrong. */
export type Invariant = (judged: Judged) => undefined | true | string;
