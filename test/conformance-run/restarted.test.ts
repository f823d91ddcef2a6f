// After a restart a device is where it has said so since: a channel on which it was before may not know yet that it is gone.
import { expect, it } from 'vitest';
import { Bench } from '../../src/conformance/bench.ts';
import type { PresenceMessage } from '../../src/link/wire-schemas.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const presence = (bootId: string, online = true): PresenceMessage => ({
  v: 1,
  device: 'd',
  online,
  bootId,
  clock: '2026-11-16T12:00:00.000Z',
});

it('is live where it has come back, and not where it was', () => {
  const bench = new Bench({ clock: createVirtualClock(), deviceId: 'd', channels: [] });
  bench.presence('mqtt', 'd', presence('first'));
  bench.presence('queue', 'd', presence('first'));
  expect(bench.live).toEqual(['mqtt', 'queue']);
  bench.presence('mqtt', 'd', presence('second'));
  expect(bench.live).toEqual(['mqtt']);
  bench.presence('queue', 'd', presence('second'));
  expect(bench.live).toEqual(['mqtt', 'queue']);
  bench.presence('mqtt', 'd', presence('second', false));
  expect(bench.live).toEqual(['queue']);
});
