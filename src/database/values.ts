// Which JavaScript values may be parameters: the same on both engines, so that a store that works on one works on the other.
// A value that a driver would convert (a Date to NULL, an object to JSON) is refused.

export type Bindable = null | string | number | bigint | Uint8Array;

export function toBindable(value: unknown): Bindable {
  switch (typeof value) {
    case 'string':
      // SQLite would store it, PostgreSQL cannot.
      if (value.includes('\u0000')) throw new TypeError('A text with a NUL character cannot be stored.');
      return value;
    case 'number':
      if (!Number.isFinite(value)) throw new TypeError(`The number ${value} cannot be stored.`);
      if (Number.isInteger(value) && !Number.isSafeInteger(value)) throw new TypeError(`The integer ${value} is not exact.`);
      return value;
    case 'bigint':
      return value;
    case 'boolean':
      return value ? 1 : 0;
    default:
      if (value === null) return null;
      if (value instanceof Uint8Array) return value;
      throw new TypeError(`A value of type ${describe(value)} cannot be a parameter.`);
  }
}

function describe(value: unknown): string {
  return typeof value === 'object' ? (value?.constructor?.name ?? 'object') : typeof value;
}
