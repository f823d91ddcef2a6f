// The day of a shop, three books side by side. Amounts are in lei.
import type { Answers } from './answers.ts';

export type Shop = Answers['listShops']['shops'][number];
export type DayClose = Answers['readDayClose'];
export type DayLine = DayClose['lines'][number];
export type Line = DayLine['line'];
export type DayGroup = DayClose['groups'][number];
