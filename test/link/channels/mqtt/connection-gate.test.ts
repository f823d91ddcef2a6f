// Limits of a port open to unauthenticated clients: the oldest of them is closed for a new one, a device that has logged in never is.
import { describe, expect, it } from 'vitest';
import { createConnectionGate, type GateLimits } from '../../../../src/link/channels/mqtt/connection-gate.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

function setUp(limits: Partial<GateLimits> = {}) {
  const clock = createVirtualClock();
  const gate = createConnectionGate(clock, {
    connections: 10,
    withoutLogin: 6,
    withoutLoginPerAddress: 3,
    loginWithinMs: 10_000,
    ...limits,
  });
  const cut: string[] = [];
  const enter = (name: string, address: string) => gate.enter(address, () => cut.push(name));
  return { clock, gate, cut, enter };
}

const device = (count: number) => ({ deviceId: `device ${count}`, merchantId: 'm' });

describe('the connection gate', () => {
  it('closes the oldest unauthenticated connection of an address that has too many', () => {
    const { cut, enter, gate } = setUp();
    for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) enter(name, 'a');
    enter('b1', 'b');
    expect(cut).toEqual(['a1', 'a2']);
    expect(gate.connections).toBe(4);
  });

  it('closes the oldest unauthenticated connection of all when many addresses have too many together', () => {
    const { cut, enter } = setUp();
    for (let count = 0; count < 8; count += 1) enter(`one ${count}`, `address ${count}`);
    expect(cut).toEqual(['one 0', 'one 1']);
  });

  it('refuses no connection before its login, however many devices have logged in', () => {
    const { cut, enter, gate } = setUp();
    const first = enter('device 0', 'shop');
    first.loggedIn(device(0));
    for (let count = 1; count < 10; count += 1) enter(`device ${count}`, 'shop').loggedIn(device(count));
    expect(enter('one more', 'elsewhere').loggedIn(device(10))).toBe(false);
    const again = enter('device 0 again', 'elsewhere');
    expect(again.loggedIn(device(0))).toBe(true);
    first.leave();
    expect([cut, gate.connections]).toEqual([[], 11]);
  });

  it('closes the newest device of the merchant with the most for one of a merchant with fewer', () => {
    const { cut, enter } = setUp();
    for (let count = 0; count < 10; count += 1) enter(`device ${count}`, 'shop').loggedIn(device(count));
    expect(enter('other', 'elsewhere').loggedIn({ deviceId: 'other', merchantId: 'other' })).toBe(true);
    expect(cut).toEqual(['device 9']);
  });

  it('gives no place to a connection that was closed while its login was checked', () => {
    const { enter, gate } = setUp();
    const slow = enter('slow', 'a');
    slow.leave();
    expect([slow.loggedIn(device(1)), gate.connections]).toEqual([false, 0]);
  });

  it('accepts a device while unauthenticated clients fill the port', () => {
    const { cut, enter, gate } = setUp();
    for (let count = 0; count < 7; count += 1) enter(`device ${count}`, 'shop').loggedIn(device(count));
    for (let count = 0; count < 50; count += 1) enter(`stranger ${count}`, `address ${count}`);
    const late = enter('late device', 'shop');
    late.loggedIn(device(99));
    expect(gate.connections).toBe(13);
    expect(cut).not.toContain('late device');
    late.leave();
    expect(gate.connections).toBe(12);
  });

  it('closes a client that has not logged in by the deadline, and leaves no timer', async () => {
    const { clock, cut, enter, gate } = setUp();
    const gone = enter('gone', 'a');
    enter('slow', 'a');
    enter('device', 'a').loggedIn(device(0));
    gone.leave();
    await clock.advance(10_000);
    expect(cut).toEqual(['slow']);
    expect([gate.connections, clock.pending]).toEqual([1, 0]);
  });

  it('counts a client once, however often it leaves', () => {
    const { enter, gate } = setUp({ connections: 2 });
    const one = enter('one', 'a');
    one.loggedIn(device(1));
    one.loggedIn(device(1));
    one.leave();
    one.leave();
    expect(gate.connections).toBe(0);
  });
});
