// Properties of an address: its network, for rate limits, and whether it is a loopback address. The network of an IPv4 address is the
// address, that of IPv6 the /64, because one customer has a whole one. Normalised, so that another spelling does not count separately.
import ipaddr from 'ipaddr.js';

/** A cache: most callers use a few addresses. When it is full, it is emptied. */
const maxKnown = 1_000;
const known = new Map<string, string>();

/** `address`: from a socket or a proxy; some proxies append the port. */
export function networkOf(address: string): string {
  const before = known.get(address);
  if (before !== undefined) return before;
  const network = readNetwork(address);
  if (known.size >= maxKnown) known.clear();
  // A forwarded address may be long.
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

/** 0.0.0.0 and ::, in any spelling: valid for listening (all addresses of this machine), not for connecting. */
export function isUnspecified(host: string): boolean {
  return ipaddr.isValid(host) && ipaddr.process(host).range() === 'unspecified';
}
