// Whose address it is, for counting: an IPv4 address itself, and of IPv6 the /64, because one customer holds a whole one.
// Written in one way, so that an address cannot count twice by being spelt twice.

/** `address` as a socket or a proxy tells it. */
export function networkOf(address: string): string {
  // Some proxies write the port too.
  const bare = address
    .slice(0, 64)
    .replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '')
    .replace(/(?<=^\d+\.\d+\.\d+\.\d+):\d+$/, '')
    .replace(/%.*$/s, '');
  if (!bare.includes(':')) return bare;
  const [head = '', tail] = bare.toLowerCase().split('::', 2);
  const groups = head === '' ? [] : head.split(':');
  const tailGroups = tail === undefined || tail === '' ? [] : tail.split(':');
  const missing = tail === undefined ? 0 : Math.max(0, 8 - groups.length - tailGroups.length);
  return [...groups, ...Array<string>(missing).fill('0'), ...tailGroups]
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':');
}
