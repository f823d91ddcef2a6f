// A callback does not connect to the machine of the gateway by its public address. Only judged here: nobody is dialled.
import ipaddr from 'ipaddr.js';
import { beforeEach, describe, expect, it } from 'vitest';
import { createAddressGuard } from '../../src/callbacks/address-guard.ts';
import { createOwnAddresses, thisMachine } from '../../src/callbacks/own-addresses.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

/** Undefined: cannot be read. */
const found = { addresses: [] as string[] | undefined, tables: {} as Record<string, string> };

const refuse = (): never => {
  throw new Error('EAFNOSUPPORT');
};
const machine = {
  interfaces: () => ({ lo: undefined, eth0: (found.addresses ?? refuse()).map((address) => ({ address })) }),
  readTable: (path: string) => found.tables[path] ?? refuse(),
};

const guardWith = (...allow: string[]) => createAddressGuard({ clock: systemClock, allow, machine });

beforeEach(() => {
  found.addresses = ['8.8.8.8', '2606:4700::1111', 'fe80::1%eth0'];
  found.tables = {};
});

describe('the addresses of this machine', () => {
  it.each(['8.8.8.8', '::ffff:8.8.8.8', '64:ff9b::8.8.8.8', '2606:4700::1111', '2606:4700:0:0::1111', '2606:4700::1111%eth0'])(
    'include %s, which is refused',
    (address) => {
      expect(guardWith().refusal(address)).toMatch(/^the address \S+ belongs to the gateway's own machine$/);
    },
  );

  it.each(['8.8.8.9', '2606:4700::1112'])('do not include %s, which passes', (address) => {
    expect(guardWith().refusal(address)).toBeUndefined();
  });

  it('are left out when a name has others too', async () => {
    const guard = createAddressGuard({
      clock: systemClock,
      allow: [],
      machine,
      lookup: (_name, _options, done) =>
        done(null, [
          { address: '8.8.8.8', family: 4 },
          { address: '8.8.4.4', family: 4 },
        ]),
    });
    const all = new Promise((resolve) => guard.lookup('mixed.example', { all: true }, (_error, usable) => resolve(usable)));
    expect(await all).toEqual([{ address: '8.8.4.4', family: 4 }]);
  });

  it('pass if the setting names them', () => {
    expect(guardWith('8.8.8.8').refusal('8.8.8.8')).toBeUndefined();
    expect(guardWith('2606:4700::/32').refusal('2606:4700::1111')).toBeUndefined();
  });

  it('are read again after a second', async () => {
    const clock = createVirtualClock();
    const guard = createAddressGuard({ clock, allow: [], machine });
    expect(guard.refusal('8.8.8.8')).toContain('own machine');
    found.addresses = ['9.9.9.9'];
    await clock.advance(999);
    expect(guard.refusal('9.9.9.9')).toBeUndefined();
    await clock.advance(1);
    expect(guard.refusal('8.8.8.8')).toBeUndefined();
    expect(guard.refusal('9.9.9.9')).toContain('own machine');
  });
});

// Recorded on Linux 6.1, without the parts that repeat. 93.184.230.1 and 2606:2800:231::1 are on an interface without carrier, 93.184.217.98 is
// on one that is down, 93.184.220.0/24 and 2606:2800:221::/48 are routed to the machine itself. A socket could connect to all of them.
const fibTrie = `Main:
  +-- 64.0.0.0/2 2 0 2
     +-- 93.184.192.0/18 2 0 2
        +-- 93.184.216.0/21 2 1 2
           +-- 93.184.216.0/23 3 0 4
              |-- 93.184.216.0
                 /24 link UNICAST
              |-- 93.184.216.99
                 /32 host LOCAL
              |-- 93.184.216.255
                 /32 link BROADCAST
              |-- 93.184.217.98
                 /32 host LOCAL
           |-- 93.184.220.0
              /25 link UNICAST
              /24 host LOCAL
        +-- 93.184.230.0/24 2 0 2
           |-- 93.184.230.1
              /32 host LOCAL
`;
const ipv6Route = `26062800022000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000003 00000000 00000001      br0
26062800022000000000000000000099 80 00000000000000000000000000000000 00 00000000000000000000000000000000 00000000 00000004 00000000 80200001      br0
26062800022100000000000000000000 30 00000000000000000000000000000000 00 00000000000000000000000000000000 00000400 00000005 00000000 80000001       lo
26062800023100000000000000000000 80 00000000000000000000000000000000 00 00000000000000000000000000000000 00000000 00000003 00000000 00300001       v0
26062800023100000000000000000001 80 00000000000000000000000000000000 00 00000000000000000000000000000000 00000000 00000003 00000000 80200001       v0
`;

describe("the kernel's tables", () => {
  beforeEach(() => {
    found.tables = { '/proc/self/net/fib_trie': fibTrie, '/proc/self/net/ipv6_route': ipv6Route };
  });

  const own = [
    '93.184.216.99',
    '93.184.217.98',
    '93.184.230.1',
    '93.184.220.0',
    '93.184.220.255',
    '2606:2800:221:ffff::1',
    '2606:2800:231::1',
  ];

  it.each(['8.8.8.8', ...own])('add to what Node lists: %s', (address) => {
    expect(guardWith().refusal(address)).toContain('own machine');
  });

  it.each(['93.184.216.1', '93.184.217.99', '93.184.221.1', '2606:2800:220::1', '2606:2800:231::2', '2606:2800:222::'])(
    'leave out %s',
    (address) => {
      expect(guardWith().refusal(address)).toBeUndefined();
    },
  );

  it.each(own)('are enough where Node may not list interfaces: %s', (address) => {
    found.addresses = undefined;
    expect(guardWith().refusal(address)).toContain('own machine');
    expect(guardWith().refusal('8.8.8.8')).toBeUndefined();
  });

  it('are not needed on other systems', () => {
    found.tables = {};
    expect(guardWith().refusal('8.8.8.8')).toContain('own machine');
    expect(guardWith().refusal('93.184.230.1')).toBeUndefined();
  });

  it('and Node tell nothing: every address is refused, with the reason', () => {
    found.addresses = undefined;
    found.tables = {};
    expect(guardWith().refusal('8.8.8.8')).toBe("the addresses of the gateway's own machine cannot be read");
    expect(guardWith('8.8.8.8').refusal('8.8.8.8')).toBeUndefined();
  });

  it.runIf(process.platform === 'linux')('are read on this machine, up to a bound', () => {
    const own = createOwnAddresses(systemClock, { ...thisMachine, interfaces: refuse });
    expect(own.isOwn(ipaddr.parse('127.0.0.1'))).toBe(true);
    expect(own.isOwn(ipaddr.parse('8.8.8.8'))).toBe(false);
    expect(thisMachine.readTable('/proc/self/net/fib_trie', 20)).toHaveLength(20);
  });
});
