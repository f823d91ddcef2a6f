// A callback does not connect to the machine of the gateway by its public address. Only judged here: nobody is dialled.
import { beforeEach, describe, expect, it } from 'vitest';
import { createAddressGuard } from '../../src/callbacks/address-guard.ts';
import { systemClock } from '../../src/kernel/system.ts';

const machine = { addresses: [] as string[] };
const interfaces = () => ({ lo: undefined, eth0: machine.addresses.map((address) => ({ address })) });

const guardWith = (...allow: string[]) => createAddressGuard({ clock: systemClock, allow, interfaces });

beforeEach(() => {
  machine.addresses = ['8.8.8.8', '2606:4700::1111', 'fe80::1%eth0'];
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
      interfaces,
      lookup: (_name, _options, done) =>
        done(null, [
          { address: '8.8.8.8', family: 4 },
          { address: '8.8.4.4', family: 4 },
        ]),
    });
    const found = new Promise((resolve) => guard.lookup('mixed.example', { all: true }, (_error, all) => resolve(all)));
    expect(await found).toEqual([{ address: '8.8.4.4', family: 4 }]);
  });

  it('pass if the setting names them', () => {
    expect(guardWith('8.8.8.8').refusal('8.8.8.8')).toBeUndefined();
    expect(guardWith('2606:4700::/32').refusal('2606:4700::1111')).toBeUndefined();
  });

  it('are read at each connect', () => {
    const guard = guardWith();
    machine.addresses = ['9.9.9.9'];
    expect(guard.refusal('8.8.8.8')).toBeUndefined();
    expect(guard.refusal('9.9.9.9')).toContain('own machine');
  });
});
