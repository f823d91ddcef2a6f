// The addresses of the gateway's own machine. Node lists only interfaces that are up and have carrier, but Linux accepts connections to the
// addresses of the others too, and to ranges that are routed to the machine itself. So the kernel's tables are read as well, where they are.
// Where sockets of the kind AF_NETLINK are forbidden (a sandboxed service), Node lists nothing and only the tables tell.
import { closeSync, openSync, readSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';
import type { Clock } from '../kernel/clock.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = [Address, number];

export interface MachineAddresses {
  interfaces: () => NodeJS.Dict<{ address: string }[]>;
  /** The text of a file, at most `maxBytes` of it; throws if it cannot be read. */
  readTable: (path: string, maxBytes: number) => string;
}

/** A machine with a thousand addresses has 120 KB. */
const maxTableBytes = 1024 * 1024;
const keptMs = 1000;
/** In the kernel's flags of a route: the destination is this machine. */
const localRoute = 0x8000_0000;

export const thisMachine: MachineAddresses = { interfaces: networkInterfaces, readTable };

export function createOwnAddresses(clock: Clock, machine: MachineAddresses = thisMachine) {
  let own: Range[] | undefined;
  let untilMs = Number.NEGATIVE_INFINITY;

  return {
    /** undefined: no source can be read. */
    isOwn(address: Address): boolean | undefined {
      if (clock.elapsed() >= untilMs) {
        own = readAll(machine);
        untilMs = clock.elapsed() + keptMs;
      }
      return own?.some(([start, bits]) => start.kind() === address.kind() && address.match(start, bits));
    },
  };
}

function readAll({ interfaces, readTable }: MachineAddresses): Range[] | undefined {
  const sources: (() => Range[])[] = [
    () => addressesOf(interfaces()),
    // Under /proc/self, because a sandboxed service sees no other files of /proc.
    () => localIpv4(readTable('/proc/self/net/fib_trie', maxTableBytes)),
    () => localIpv6(readTable('/proc/self/net/ipv6_route', maxTableBytes)),
  ];
  const lists = sources.map((source) => {
    try {
      return source();
    } catch {
      return undefined;
    }
  });
  return lists.every((list) => list === undefined) ? undefined : lists.flatMap((list) => list ?? []);
}

function addressesOf(interfaces: NodeJS.Dict<{ address: string }[]>): Range[] {
  return Object.values(interfaces).flatMap((addresses = []) =>
    addresses.map(({ address }): Range => {
      const parsed = ipaddr.parse(address.replace(/%.*$/, ''));
      return [parsed, parsed.kind() === 'ipv4' ? 32 : 128];
    }),
  );
}

/** A leaf of the trie is an address; the lines below it are the lengths of its prefixes, each with a type. */
function localIpv4(table: string): Range[] {
  const ranges: Range[] = [];
  let leaf: string | undefined;
  for (const line of table.split('\n')) {
    leaf = /\|-- ([\d.]+)$/.exec(line)?.[1] ?? leaf;
    const bits = /^ +\/(\d+) \S+ LOCAL\b/.exec(line)?.[1];
    if (leaf !== undefined && bits !== undefined) ranges.push([ipaddr.IPv4.parse(leaf), Number(bits)]);
  }
  return ranges;
}

/** A line: destination, its length, source, its length, next hop, metric, references, uses, flags, device. All numbers are hexadecimal. */
function localIpv6(table: string): Range[] {
  return table.split('\n').flatMap((line): Range[] => {
    const [destination = '', bits = '', , , , , , , flags] = line.split(/ +/);
    if (flags === undefined || (Number.parseInt(flags, 16) & localRoute) === 0) return [];
    return [[new ipaddr.IPv6([...Buffer.from(destination, 'hex')]), Number.parseInt(bits, 16)]];
  });
}

function readTable(path: string, maxBytes: number): string {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(maxBytes);
    let length = 0;
    // The kernel gives a table in pieces.
    for (let read = -1; read !== 0; length += read) read = readSync(file, bytes, length, maxBytes - length, null);
    return bytes.toString('latin1', 0, length);
  } finally {
    closeSync(file);
  }
}
