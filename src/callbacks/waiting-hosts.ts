// Hosts that have more due than there was room for, in a line for each share of the places, in the order in which they came: a place that is free is
// offered to those who may take it, without a walk past thousands who may not [D128].
import type { Share } from './sending-slots.ts';

export class WaitingHosts {
  readonly #lines: Record<Share, Set<string>> = { quick: new Set(), slow: new Set(), unknown: new Set() };
  readonly #shares = new Map<string, Share>();

  get size(): number {
    return this.#shares.size;
  }

  has(host: string): boolean {
    return this.#shares.has(host);
  }

  /** Behind the others of the share; one that stands there already keeps its turn. */
  add(host: string, share: Share): void {
    if (this.#shares.get(host) === share) return;
    this.delete(host);
    this.#shares.set(host, share);
    this.#lines[share].add(host);
  }

  delete(host: string): void {
    const share = this.#shares.get(host);
    if (share === undefined) return;
    this.#shares.delete(host);
    this.#lines[share].delete(host);
  }

  of(share: Share): Iterable<string> {
    return this.#lines[share];
  }

  /** Whoever has nothing pending any more waits for nothing. */
  keepOnly(hosts: ReadonlySet<string>): void {
    for (const host of this.#shares.keys()) if (!hosts.has(host)) this.delete(host);
  }
}
