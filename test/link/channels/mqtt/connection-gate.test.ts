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

  it('never closes a device that has logged in, and refuses when only such are left', () => {
    const { cut, enter, gate } = setUp();
    for (let count = 0; count < 10; count += 1) enter(`device ${count}`, 'shop')?.loggedIn();
    expect(enter('one more', 'elsewhere')).toBeUndefined();
    expect([cut, gate.connections]).toEqual([[], 10]);
  });

  it('accepts a device while unauthenticated clients fill the port', () => {
    const { cut, enter, gate } = setUp();
    for (let count = 0; count < 7; count += 1) enter(`device ${count}`, 'shop')?.loggedIn();
    for (let count = 0; count < 50; count += 1) enter(`stranger ${count}`, `address ${count}`);
    const device = enter('late device', 'shop');
    device?.loggedIn();
    expect(gate.connections).toBe(10);
    expect(cut).not.toContain('late device');
    device?.leave();
    expect(gate.connections).toBe(9);
  });

  it('closes a client that has not logged in by the deadline, and leaves no timer', async () => {
    const { clock, cut, enter, gate } = setUp();
    const gone = enter('gone', 'a');
    enter('slow', 'a');
    enter('device', 'a')?.loggedIn();
    gone?.leave();
    await clock.advance(10_000);
    expect(cut).toEqual(['slow']);
    expect([gate.connections, clock.pending]).toEqual([1, 0]);
  });

  it('counts a client once, however often it leaves', () => {
    const { enter, gate } = setUp({ connections: 2 });
    const one = enter('one', 'a');
    one?.loggedIn();
    one?.loggedIn();
    one?.leave();
    one?.leave();
    expect(gate.connections).toBe(0);
  });
});
