// JSON in one form only, whatever the order of the fields: what hashes of requests and receipts are made of.
// The hashes are stored, and a repeat after an update must still be recognised: neither form may ever change by a byte.

type WriteObject = (fields: readonly (readonly [name: string, text: string])[]) => string;

/** As JSON has it. Receipts are hashed so. */
const asObject: WriteObject = (fields) => `{${fields.map(([name, text]) => `${name}:${text}`).join(',')}}`;

/** As a tagged list of pairs, which an ordinary list never looks like. Requests are hashed so. */
export const asPairs: WriteObject = (fields) => `{"fields":[${fields.map(([name, text]) => `[${name},${text}]`).join(',')}]}`;

/** What has no place in JSON is written as null. */
export function canonicalJson(value: unknown, writeObject: WriteObject = asObject): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, writeObject)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const names = Object.keys(value).sort();
  return writeObject(names.map((name) => [JSON.stringify(name), canonicalJson((value as Record<string, unknown>)[name], writeObject)]));
}
