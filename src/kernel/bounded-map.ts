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
    // Not looked for while there is room: a map whose oldest entries were deleted has to skip their places.
    if (this.size > this.#maxEntries) for (const oldest of this.keys().take(1)) this.delete(oldest);
    return this;
  }
}
