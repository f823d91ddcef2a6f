// When a request ends, and how long a stop waits for it, in virtual time.
import { beforeEach, describe, expect, it } from 'vitest';
import { createInFlight } from '../../src/http/in-flight.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

let clock: VirtualClock;
let inFlight: ReturnType<typeof createInFlight>;
let over: number;

beforeEach(() => {
  clock = createVirtualClock();
  inFlight = createInFlight(clock);
  over = 0;
});

const begin = () =>
  inFlight.begin(() => {
    over += 1;
  });

describe('a request', () => {
  it('whose caller disconnects is in progress until its handler has returned', () => {
    const flight = begin();
    flight.workStarted();
    flight.responseClosed();
    expect([inFlight.count, over]).toEqual([1, 0]);
    flight.workEnded();
    expect([inFlight.count, over]).toEqual([0, 1]);
  });

  it('whose handler has returned is in progress until its answer is sent, and ends once', () => {
    const flight = begin();
    flight.workStarted();
    flight.workEnded();
    expect([inFlight.count, over]).toEqual([1, 0]);
    for (let times = 0; times < 2; times += 1) {
      flight.responseClosed();
      flight.workEnded();
    }
    expect([inFlight.count, over]).toEqual([0, 1]);
  });
});

describe('a stop', () => {
  it('waits for the last request, and leaves no timer', async () => {
    const [one, other] = [begin(), begin()];
    let isDrained = false;
    const drained = inFlight.drained(1_000).then(() => {
      isDrained = true;
    });
    one.responseClosed();
    await clock.settle();
    expect(isDrained).toBe(false);
    other.responseClosed();
    await drained;
    expect(clock.pending).toBe(0);
  });

  it('waits no longer than its time-out', async () => {
    begin();
    let isDrained = false;
    void inFlight.drained(1_000).then(() => {
      isDrained = true;
    });
    await clock.advance(999);
    expect(isDrained).toBe(false);
    await clock.advance(1);
    expect(isDrained).toBe(true);
  });

  it('does not wait if nothing is in progress', async () => {
    await inFlight.drained(1_000);
    expect(clock.pending).toBe(0);
  });
});
