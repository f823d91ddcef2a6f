// The seeds of days that do not come to their end, for who orders them and for who plays them.
export const oddSeeds = { stuckLoop: 101, stillTime: 102, neverResolves: 103, throws: 104, throwsInTimer: 105, leaves: 106 } as const;
