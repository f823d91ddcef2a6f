// Things with owners, each list oldest first: for bounds that cut the oldest thing of an owner (an address), or of all. Not bounded itself.
// Invariant: an owner without things takes no memory.

const none: ReadonlySet<never> = new Set();

export class ByOwner<Thing> {
  readonly #ownerOf = new Map<Thing, string>();
  readonly #things = new Map<string, Set<Thing>>();

  get size(): number {
    return this.#ownerOf.size;
  }

  all(): Iterable<Thing> {
    return this.#ownerOf.keys();
  }

  owners(): Iterable<string> {
    return this.#things.keys();
  }

  of(owner: string): ReadonlySet<Thing> {
    return this.#things.get(owner) ?? none;
  }

  ownerOf(thing: Thing): string | undefined {
    return this.#ownerOf.get(thing);
  }

  /** The things of the owner that has the most. */
  ofLargest(): ReadonlySet<Thing> {
    return this.#things.values().reduce<ReadonlySet<Thing>>((largest, things) => (things.size > largest.size ? things : largest), none);
  }

  /** A thing has one owner. */
  add(owner: string, thing: Thing): void {
    const things = this.#things.get(owner) ?? new Set();
    this.#things.set(owner, things.add(thing));
    this.#ownerOf.set(thing, owner);
  }

  /** False: it was deleted before. */
  delete(thing: Thing): boolean {
    const owner = this.#ownerOf.get(thing);
    if (owner === undefined) return false;
    this.#ownerOf.delete(thing);
    const things = this.#things.get(owner);
    things?.delete(thing);
    if (things?.size === 0) this.#things.delete(owner);
    return true;
  }
}
