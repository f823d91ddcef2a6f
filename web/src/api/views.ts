// Names for the parts of the cabinet's answers (answers.ts) that several pages use.
import type { Answers, NextStep, Step } from './answers.ts';

export type { CommandRow, NextStep, Said, Step } from './answers.ts';
export type CommandList = Answers['listCommands'];
export type CommandTotal = Answers['totalCommands'];
export type Found = Answers['search']['results'][number];
export type StepAction = NextStep['action'];
export type Lane = NonNullable<Step['from']>;
export type UnclearSpan = Answers['readCommand']['unclear'][number];
export type Mark = Answers['readCommand']['marks'][number];

/** Its outcome was unknown for a while. */
export function wasLearnedLater({ at, learnedAt }: Step): boolean {
  return learnedAt !== undefined && Date.parse(learnedAt) - Date.parse(at) > 2_000;
}
