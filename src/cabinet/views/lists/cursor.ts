// The cursor of a list ordered by (time, id), newest first: its last row. Opaque to callers, validated when it is sent back.
import { invalidRequest } from '../../../kernel/error-codes.ts';

export interface Place {
  atMs: number;
  id: string;
}

export function writeCursor({ atMs, id }: Place): string {
  return Buffer.from(`${atMs}.${id}`).toString('base64url');
}

export function readCursor(cursor: string): Place {
  const match = /^(\d{1,16})\.([0-9a-z-]{1,64})$/.exec(Buffer.from(cursor, 'base64url').toString('utf8'));
  if (!match?.[1] || !match[2]) throw invalidRequest('cursor must be the one from the previous page.');
  return { atMs: Number(match[1]), id: match[2] };
}
