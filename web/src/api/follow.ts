// The gateway looks through a bounded part of its books for one page of a list, so a page may be empty and still have a next one. Here it is
// asked on, a short question at a time, until something is found, everything was looked through, or the reader would wait too long.

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
