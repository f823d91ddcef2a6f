// The gateway scans a bounded part of the ledger for one page of a list, so a page may be empty and still have a next one. This follows
// the cursor with short requests until a row is found, everything was scanned, or the wait becomes too long.

export interface Paged {
  next?: string;
}

/** Two hundred thousand rows, about. */
const maxPages = 100;

export async function readUntilFound<Fields extends Paged>(
  read: (cursor: string | undefined) => Promise<Fields>,
  isEmpty: (fields: Fields) => boolean,
  cursor: string | undefined,
): Promise<Fields> {
  let fields = await read(cursor);
  for (let pages = 1; pages < maxPages && fields.next !== undefined && isEmpty(fields); pages += 1) fields = await read(fields.next);
  return fields;
}
