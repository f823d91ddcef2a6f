// The offset of a device's clock from ours, from the clock readings in its live messages.
// Latency makes the device's clock look late, never early: so the greatest of the recent samples is the most accurate.
// Too great an offset would let a command begin late; too small an offset only makes it `expired`. In doubt the smaller one is used.

const keptSamples = 5;
/** No live message takes longer: a sample this far below the others means that the device's clock was set back. */
const setBackMs = 20_000;

export function createClockOffset() {
  let samples: number[] = [];
  const greatest = () => samples.reduce((most, sample) => Math.max(most, sample), Number.NEGATIVE_INFINITY);
  return {
    /** Device clock minus our clock, always the same one, at the time of receipt. */
    add(sampleMs: number): void {
      if (!Number.isFinite(sampleMs)) return;
      if (sampleMs < greatest() - setBackMs) samples = [];
      samples.push(sampleMs);
      if (samples.length > keptSamples) samples.shift();
    },
    /** undefined before the first sample. */
    read: () => (samples.length === 0 ? undefined : greatest()),
    reset(): void {
      samples = [];
    },
  };
}
