// Work about one thing at a time, in the order in which it came: calls of this gateway that disturbed each other once do not disturb each other
// again. Calls of other gateways still may.

export interface Turns {
  take<Result>(place: string, work: () => Promise<Result>): Promise<Result>;
}

export function createTurns(): Turns {
  const last = new Map<string, Promise<unknown>>();
  return {
    async take(place, work) {
      const before = last.get(place);
      const own = (before ?? Promise.resolve()).then(work, work);
      last.set(place, own);
      try {
        return await own;
      } finally {
        if (last.get(place) === own) last.delete(place);
      }
    },
  };
}
