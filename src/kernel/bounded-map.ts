// A map that keeps its newest entries: one more than `maxEntries` removes the oldest. To set a known key keeps its place; delete it first to
// make it the newest.

export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #maxEntries: number;

  constructor(maxEntries: number) {
    super();
    this.#maxEntries = maxEntries;
  }

  override set(key: Key, value: Value): this {
    super.set(key, value);
    for (const oldest of this.keys()) {
      if (this.size <= this.#maxEntries) break;
      this.delete(oldest);
    }
    return this;
  }
}
