// What an address is: its network, for counting, and whether it leads back to this machine. For counting, an IPv4 address itself, and of IPv6 the /64, because one customer holds a whole one.
// Written in one way, so that an address cannot count twice by being spelt twice.
import ipaddr from 'ipaddr.js';

/** Callers come again and again from a few addresses; over this all are forgotten at once. */
const maxKnown = 1_000;
const known = new Map<string, string>();

/** `address` as a socket or a proxy tells it; some proxies write the port too. */
export function networkOf(address: string): string {
  const before = known.get(address);
  if (before !== undefined) return before;
  const network = readNetwork(address);
  if (known.size >= maxKnown) known.clear();
  // What a proxy passes on may be long.
  if (address.length <= 64) known.set(address, network);
  return network;
}

function readNetwork(address: string): string {
  const bare = address
    .slice(0, 64)
    .replace(/(?<=^\d+\.\d+\.\d+\.\d+):\d+$/, '')
    .replace(/%.*$/s, '');
  if (!ipaddr.isValid(bare)) return bare;
  const parsed = ipaddr.process(bare);
  return parsed instanceof ipaddr.IPv6 ? ipaddr.IPv6.networkAddressFromCIDR(`${bare}/64`).toString() : parsed.toString();
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || (ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback');
}

/** 0.0.0.0 and ::, however written: every address of this machine to listen on, and none to dial. */
export function isUnspecified(host: string): boolean {
  return ipaddr.isValid(host) && ipaddr.process(host).range() === 'unspecified';
}
