// Contenders alternate: each of them once, then again in the reverse order, and so on, so that other load of the machine affects all
// alike. Each figure is the median of the rounds.
import { type Duration, type Measured, median } from './load.ts';

export interface Round extends Duration {
  inFlight: number;
}

export interface Sizes {
  rounds: number;
  forMs: number;
  warmUpMs: number;
  /**
   * Before its first round with many in flight, when nothing is compiled yet: after some seven thousand calls V8 has optimised the code.
   */
  firstWarmUpCalls: number;
  /** With one in flight a fourth of it. */
  atLeastCalls: number;
}

export type Figures = Pick<Measured, 'perSecond' | 'p50Ms' | 'p99Ms' | 'cpuMsPerCall' | 'databaseMsPerCall'>;

export async function takeTurns<Name extends string>(
  sizes: Sizes,
  inFlight: number,
  contenders: Record<Name, (round: Round) => Promise<Measured>>,
): Promise<Record<Name, Figures>> {
  const names = Object.keys(contenders) as Name[];
  const { rounds, forMs, warmUpMs } = sizes;
  const atLeastCalls = inFlight === 1 ? sizes.atLeastCalls / 4 : sizes.atLeastCalls;
  const seen = Object.fromEntries(names.map((name) => [name, [] as Measured[]])) as Record<Name, Measured[]>;
  for (let turn = 0; turn < rounds; turn += 1) {
    const warmUpCalls = turn === 0 && inFlight > 1 ? sizes.firstWarmUpCalls : atLeastCalls;
    for (const name of turn % 2 === 0 ? names : [...names].reverse())
      seen[name].push(await contenders[name]({ inFlight, forMs, warmUpMs, atLeastCalls, warmUpCalls }));
  }
  const middle = (name: Name, of: keyof Figures) => median(seen[name].map((measured) => measured[of]));
  const figures = names.map((name) => {
    const of = (figure: keyof Figures) => middle(name, figure);
    const figures: Figures = {
      perSecond: of('perSecond'),
      p50Ms: of('p50Ms'),
      p99Ms: of('p99Ms'),
      cpuMsPerCall: of('cpuMsPerCall'),
      databaseMsPerCall: of('databaseMsPerCall'),
    };
    return [name, figures];
  });
  return Object.fromEntries(figures) as Record<Name, Figures>;
}
