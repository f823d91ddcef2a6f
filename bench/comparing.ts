// The rows of a workload that Tillgate and its peer execute by the same calls: many in flight, one in flight, and the processor time per
// call.
import { type Bench, lanes } from './bench.ts';
import type { Contender } from './contenders.ts';
import type { Measured } from './load.ts';
import type { RawLimit } from './raw.ts';
import type { Figure, Row } from './report.ts';
import { type Figures, type Round, takeTurns } from './turns.ts';
import type { Work } from './works.ts';

/** The figure that a busy machine changes least. */
export const processorTime = 'processor time of the gateway for a call';

export interface Compared {
  work: Work;
  /** By the group of its rows. */
  ours: { group: string; contender: Contender; raws: string[]; goals: Goals }[];
  nest: Contender | undefined;
  /** By name. A call needs all that its group names, one after the other. */
  raws: Record<string, RawLimit>;
}

/** Ratios to the peer, and the allowed processor time per call. */
export interface Goals {
  many: number;
  one: number;
  p99?: number;
  cpuMs?: number;
}

export interface Result {
  rows: Row[];
  /** One in flight, by group or by raw limit. */
  alone: Record<string, Figures>;
}

export async function compare(bench: Bench, { work, ours, nest, raws }: Compared): Promise<Result> {
  const turns: Record<string, (round: Round) => Promise<Measured>> = {};
  for (const { group, contender } of ours) turns[group] = (round) => work(contender, round);
  if (nest) turns['NestJS'] = (round) => work(nest, round);
  for (const [name, limit] of Object.entries(raws)) turns[name] = (round) => limit.run(round);
  const names = ours.map(({ group }) => group).join('; ');
  bench.say(`${names}: ${lanes} in flight`);
  const many = await takeTurns(bench.plan, lanes, turns);
  bench.say(`${names}: one in flight`);
  const one = await takeTurns(bench.plan, 1, turns);
  const rows = ours.flatMap(({ group, raws: needed, goals }) => {
    const row = (what: string, unit: Row['unit'], from: Record<string, Figures>, of: keyof Figures, goal?: number, withRaw = true): Row => {
      const figure = (name: string): Figure => ({ name, value: from[name]?.[of] ?? Number.NaN });
      return {
        group,
        what,
        unit,
        ours: figure(group).value,
        ...(nest && { peer: figure('NestJS') }),
        ...(withRaw && { raw: needed.map(figure) }),
        ...(goal !== undefined && nest && { goal }),
      };
    };
    return [
      row(`${lanes} in flight`, '/s', many, 'perSecond', goals.many),
      row(`${lanes} in flight, p50`, 'ms', many, 'p50Ms', undefined, false),
      row(`${lanes} in flight, p99`, 'ms', many, 'p99Ms', goals.p99, false),
      row('one in flight, p50', 'ms', one, 'p50Ms', goals.one),
      row('one in flight, p99', 'ms', one, 'p99Ms', undefined, false),
      {
        ...row(processorTime, 'ms', many, 'cpuMsPerCall', undefined, false),
        ...(goals.cpuMs !== undefined && { atMost: goals.cpuMs }),
        raw: [{ name: 'bare Fastify', value: many['bare Fastify']?.cpuMsPerCall ?? Number.NaN }],
      },
    ];
  });
  return { rows, alone: one };
}
