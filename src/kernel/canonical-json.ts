// Canonical JSON, independent of the order of fields: the input for hashes of requests and receipts.
// The hashes are stored, and a repeat after an update must still be recognised: neither form may ever change by a byte.

type WriteObject = (fields: readonly (readonly [name: string, text: string])[]) => string;

/** As a JSON object; for hashes of receipts. */
const asObject: WriteObject = (fields) => `{${fields.map(([name, text]) => `${name}:${text}`).join(',')}}`;

/** As a tagged list of pairs, which differs from any ordinary list; for hashes of requests. */
export const asPairs: WriteObject = (fields) => `{"fields":[${fields.map(([name, text]) => `[${name},${text}]`).join(',')}]}`;

/** Values that JSON cannot represent are written as null. */
export function canonicalJson(value: unknown, writeObject: WriteObject = asObject): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, writeObject)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const names = Object.keys(value).sort();
  return writeObject(names.map((name) => [JSON.stringify(name), canonicalJson((value as Record<string, unknown>)[name], writeObject)]));
}
