// The host names under which browsers may call the cabinet, its API, the Playground and the API reference [D153].
// DNS rebinding: a foreign web page lets its own host name resolve to this machine and then reads our answers as its own origin.
// The Host header still has the foreign name, so these routes refuse every name that is not ours. An IP address cannot be rebound.
import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import { isLoopback, isUnspecified } from '../kernel/network-of.ts';
import { protocolFailure } from './envelope.ts';

export interface OwnHosts {
  /** The address to listen on. */
  host: string;
  publicUrl?: string | undefined;
  /** Further names, in lower case, without ports. */
  hosts?: readonly string[] | undefined;
}

/** The name in a Host header, in lower case, without brackets and port; undefined if there is none. */
function nameIn(header: string | undefined): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^\s:/?#@\\[\]]+?))\.?(?::\d{1,5})?$/i.exec(header ?? '');
  return (match?.[1] ?? match?.[2])?.toLowerCase();
}

/** Throws 421 unless the Host header, as it was received, names one of our hosts. X-Forwarded-Host is ignored. */
export function createHostCheck({ host, publicUrl, hosts = [] }: OwnHosts): (request: FastifyRequest) => void {
  const names = new Set([host.toLowerCase(), ...hosts]);
  const publicName = publicUrl === undefined ? undefined : nameIn(new URL(publicUrl).host);
  if (publicName !== undefined) names.add(publicName);
  const isEveryAddress = isUnspecified(host);
  return (request) => {
    const name = nameIn(request.headers.host);
    if (name !== undefined && (names.has(name) || isLoopback(name) || (isEveryAddress && ipaddr.isValid(name)))) return;
    throw protocolFailure(421, 'The header Host names an unknown host; the operator can add it to TILLGATE_HOSTS.');
  };
}
