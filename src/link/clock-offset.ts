// How far a device's clock is from ours, from the clock readings of its live messages.
// A message that travelled long makes the device look late, never early: so the greatest of the recent samples is the nearest to the truth.
// An offset that is too great would let a command begin late, one that is too small only makes it `expired`: doubt goes to the smaller side.

const keptSamples = 5;
/** No live message travels longer: a sample this far below the others means that the device's clock was set back. */
const setBackMs = 20_000;

export interface ClockOffset {
  /** Device clock minus a clock of ours, always the same one, at the moment of receiving. */
  add(sampleMs: number): void;
  /** undefined while nothing was measured. */
  read(): number | undefined;
  reset(): void;
}

export function createClockOffset(): ClockOffset {
  let samples: number[] = [];
  const greatest = () => samples.reduce((most, sample) => Math.max(most, sample), Number.NEGATIVE_INFINITY);
  return {
    add(sampleMs) {
      if (!Number.isFinite(sampleMs)) return;
      if (sampleMs < greatest() - setBackMs) samples = [];
      samples.push(sampleMs);
      if (samples.length > keptSamples) samples.shift();
    },
    read: () => (samples.length === 0 ? undefined : greatest()),
    reset() {
      samples = [];
    },
  };
}
