// Which addresses a callback may connect to [D29]. The address to be dialled is checked, never the name, so DNS rebinding has no effect.
// Only public unicast addresses that are none of this machine pass, and ranges that a setting allows.

import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Clock } from '../kernel/clock.ts';
import { createNameLookup, type LookupAll } from './name-lookup.ts';
import { createOwnAddresses, type MachineAddresses } from './own-addresses.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

export type AddressGuard = ReturnType<typeof createAddressGuard>;

export class AddressRefused extends Error {
  readonly code = 'ADDRESS_REFUSED';
}

interface GuardOptions {
  clock: Clock;
  allow: readonly string[];
  lookup?: LookupAll;
  /** Absent: of this machine. */
  machine?: MachineAddresses;
}

export function createAddressGuard(options: GuardOptions) {
  const allowed = options.allow.map(parseRange);
  const own = createOwnAddresses(options.clock, options.machine);
  const resolve = sharedLookup(options.lookup ?? createNameLookup({ clock: options.clock }));

  /** Why an address must not be dialled; undefined: it may. */
  function refusal(text: string): string | undefined {
    const address = parseAddress(text);
    if (address === undefined) return `${text} is not an IP address`;
    if (allowed.some(([start, bits]) => address.kind() === start.kind() && address.match(start, bits))) return undefined;
    const range = rangeOf(address);
    if (range !== 'public') return `the address ${address.toString()} is not public (${range})`;
    const isOwn = own.isOwn(address);
    if (isOwn === undefined) return "the addresses of the gateway's own machine cannot be read";
    return isOwn ? `the address ${address.toString()} belongs to the gateway's own machine` : undefined;
  }

  /** For net.connect: resolves a name and returns only addresses that may be dialled. */
  const lookup: LookupFunction = (hostname, lookupOptions, done) => {
    resolve(hostname, (error, found) => {
      if (error) return done(error, '');
      const refusals = found.map((entry) => refusal(entry.address));
      const family = Number(String(lookupOptions.family ?? 0).replace('IPv', ''));
      const usable = found.filter((entry, index) => refusals[index] === undefined && (family === 0 || entry.family === family));
      const first = usable[0];
      if (first === undefined) {
        const reason = refusals.find((text) => text !== undefined) ?? 'the name has no address';
        return done(new AddressRefused(`${hostname} is refused: ${reason}`), '');
      }
      if (lookupOptions.all) return done(null, usable);
      return done(null, first.address, first.family);
    });
  };

  return { refusal, lookup };
}

/** Concurrent look-ups of one name share one query: a host may have several attempts in flight. */
function sharedLookup(ask: LookupAll) {
  type Done = (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void;
  const waiting = new Map<string, Done[]>();
  return (hostname: string, done: Done): void => {
    const others = waiting.get(hostname);
    if (others !== undefined) {
      others.push(done);
      return;
    }
    waiting.set(hostname, [done]);
    ask(hostname, { all: true }, (error, found) => {
      const all = waiting.get(hostname) ?? [];
      waiting.delete(hostname);
      for (const answer of all) answer(error, found);
    });
  };
}

/** An IPv6 address that embeds an IPv4 address (mapped, NAT64) is checked as that one, because packets end up there. */
function parseAddress(text: string): Address | undefined {
  const bare = text.replace(/%.*$/, '');
  if (isIP(bare) === 0) return undefined;
  if (isIP(bare) === 4) return ipaddr.IPv4.parse(bare);
  // Normalised to hexadecimal first: ipaddr.js reads ::8.8.8.8 as ::ffff:8.8.8.8, which is another address.
  const wide = ipaddr.IPv6.parse(new URL(`http://[${bare}]/`).hostname.slice(1, -1));
  if (wide.isIPv4MappedAddress()) return wide.toIPv4Address();
  if (wide.match(ipaddr.IPv6.parse('64:ff9b::'), 96)) return new ipaddr.IPv4(wide.toByteArray().slice(12));
  return wide;
}

/** Azure's host, in a public range: machines in Azure get credentials from it without authentication. */
const azureHost = '168.63.129.16';

function rangeOf(address: Address): string {
  if (address.toString() === azureHost) return 'cloud host';
  const range = address.range();
  if (range !== 'unicast') return range;
  // Of IPv6 only 2000::/3 is allocated; the rest, old IPv4-compatible forms included, belongs to no network.
  if (address.kind() === 'ipv6' && !(address as ipaddr.IPv6).match(ipaddr.IPv6.parse('2000::'), 3)) return 'reserved';
  return 'public';
}

/** A range in CIDR form, or a single address. */
function parseRange(text: string): [Address, number] {
  try {
    if (text.includes('/')) return ipaddr.parseCIDR(text);
    const address = ipaddr.parse(text);
    return [address, address.kind() === 'ipv4' ? 32 : 128];
  } catch {
    throw new Error(`"${text}" is not an address range. Write it like 10.0.0.0/8 or fd00::/8.`);
  }
}
