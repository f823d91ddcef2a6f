// Places of logged-in devices: each merchant gets a fair share, and a device that connects again keeps its own.
import { describe, expect, it } from 'vitest';
import { createDevicePlaces } from '../../../src/link/channels/device-places.ts';

function setUp(maxPlaces: number) {
  const places = createDevicePlaces(maxPlaces);
  const cut: string[] = [];
  const take = (merchantId: string, deviceId: string) => places.take({ merchantId, deviceId }, () => cut.push(deviceId));
  const fill = (merchantId: string, count: number) =>
    Array.from({ length: count }, (_, at) => take(merchantId, `${merchantId}${at}`)).filter((place) => place !== undefined).length;
  return { places, cut, take, fill };
}

describe('the places of devices', () => {
  it('are all for one merchant while no other needs one', () => {
    const { places, cut, fill } = setUp(10);
    expect(fill('a', 20)).toBe(10);
    expect([places.taken, cut]).toEqual([10, []]);
  });

  it('let a device that connects again take over its own, also when all are taken', () => {
    const { places, cut, take, fill } = setUp(10);
    const first = take('a', 'till');
    fill('a', 20);
    const second = take('a', 'till');
    expect(second).toBeDefined();
    // The connection before it closes later.
    first?.leave();
    expect([places.taken, cut]).toEqual([10, []]);
    second?.leave();
    second?.leave();
    expect(places.taken).toBe(9);
  });

  it('go to the merchant that has fewer: the newest of the one with the most', () => {
    const { places, cut, take, fill } = setUp(10);
    fill('a', 10);
    expect(take('b', 'b0')).toBeDefined();
    expect(cut).toEqual(['a9']);
    expect(fill('b', 20)).toBe(5);
    expect(cut).toEqual(['a9', 'a8', 'a7', 'a6', 'a5']);
    expect(places.taken).toBe(10);
    // The other way round as well, and neither takes from the other for ever.
    expect(take('a', 'a9')).toBeUndefined();
    expect(fill('c', 10)).toBe(3);
    expect(take('b', 'late')).toBeUndefined();
    expect(places.taken).toBe(10);
  });

  it('that were taken over are free once', () => {
    const { places, take, fill } = setUp(2);
    const one = take('a', 'one');
    const two = take('a', 'two');
    expect(fill('b', 2)).toBe(1);
    two?.leave();
    expect(places.taken).toBe(2);
    one?.leave();
    expect(places.taken).toBe(1);
  });

  it('are not taken over where that would only reverse the two', () => {
    const { cut, take } = setUp(1);
    take('a', 'one');
    expect(take('b', 'other')).toBeUndefined();
    expect(cut).toEqual([]);
  });
});
