// Hosts that have more due than there was room for, in a line for each share of the places: a place that is free is offered to those who may take it,
// without a walk past thousands who may not [D128]. In a line the merchants take turns, each with a host of its own, so that whoever has written to
// thousands of dead ones waits behind them himself and does not keep the others waiting [D136]. A host to which several have written comes with the
// first of their turns; so many are remembered of those, so that a host of thousands of merchants is not stepped over thousands of times.
import type { Share } from './sending-slots.ts';

const maxMerchants = 16;

interface Standing {
  share: Share;
  /** Never empty. */
  merchantIds: Set<string>;
}

export class WaitingHosts {
  /** The hosts of each merchant in the order in which they came; the merchants in the order of their turns. */
  readonly #lines: Record<Share, Map<string, Set<string>>> = { quick: new Map(), slow: new Map(), unknown: new Map() };
  readonly #standing = new Map<string, Standing>();

  get size(): number {
    return this.#standing.size;
  }

  has(host: string): boolean {
    return this.#standing.has(host);
  }

  /** Behind the others of these merchants; one that stands there already keeps its turn. With no merchants only its share may change. */
  add(host: string, share: Share, merchantIds: Iterable<string>): void {
    const before = this.#standing.get(host);
    if (before && before.share !== share) return this.add(host, share, [...this.delete(host), ...merchantIds]);
    const ofWhom = before?.merchantIds ?? new Set();
    for (const merchantId of merchantIds) {
      if (ofWhom.size === maxMerchants) break;
      ofWhom.add(merchantId);
      this.#stand(host, share, merchantId);
    }
    if (ofWhom.size > 0) this.#standing.set(host, { share, merchantIds: ofWhom });
  }

  /** Returns whose it was. */
  delete(host: string): Iterable<string> {
    const standing = this.#standing.get(host);
    if (standing === undefined) return [];
    this.#standing.delete(host);
    const line = this.#lines[standing.share];
    for (const merchantId of standing.merchantIds) {
      const hosts = line.get(merchantId);
      hosts?.delete(host);
      if (hosts?.size === 0) line.delete(merchantId);
    }
    return standing.merchantIds;
  }

  /** These have had their turn: with what they have left they come behind the others. */
  passTurn(share: Share, merchantIds: Iterable<string>): void {
    const line = this.#lines[share];
    for (const merchantId of merchantIds) {
      const hosts = line.get(merchantId);
      if (hosts === undefined) continue;
      line.delete(merchantId);
      line.set(merchantId, hosts);
    }
  }

  #stand(host: string, share: Share, merchantId: string): void {
    const line = this.#lines[share];
    const hosts = line.get(merchantId);
    if (hosts) hosts.add(host);
    else line.set(merchantId, new Set([host]));
  }

  /** In the order of their turns: one of each merchant, then the next of each. The walk costs what is taken of it, and what is told once of several. */
  *of(share: Share): Generator<string> {
    const line = this.#lines[share];
    /** It grows while it is walked through: whoever has more comes again. */
    const again: Iterator<string>[] = [];
    function* turns() {
      for (const hosts of line.values()) yield hosts.values();
      yield* again;
    }
    const told = new Set<string>();
    for (const hosts of turns()) {
      const { value: host, done } = hosts.next();
      if (done) continue;
      again.push(hosts);
      if (!told.has(host)) yield host;
      told.add(host);
    }
  }

  /** Whoever has nothing pending any more waits for nothing. */
  keepOnly(hosts: ReadonlySet<string>): void {
    for (const host of this.#standing.keys()) if (!hosts.has(host)) this.delete(host);
  }
}
