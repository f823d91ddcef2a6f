// The seeds of days that do not come to their end, for who orders them and for who plays them.
export const oddSeeds = {
  stuckLoop: 101,
  stillTime: 102,
  neverResolves: 103,
  throws: 104,
  throwsInTimer: 105,
  leaves: 106,
  throwsAndEnds: 107,
  leavesAfterwards: 108,
} as const;

/** Of days that are made smaller. */
export const shrinkingSeeds = { breaks: 201, neverEndsSmaller: 202, holds: 203 } as const;
/** Where one of them tells that it is about to stand still for ever. */
export const stuckDays = 'tillgate-stuck-days';
