// A page of a list that is empty and has a next one is asked on, as long as that makes sense.
import { expect, it } from 'vitest';
import { readUntilFound } from '../../web/src/api/follow.ts';

interface Fields {
  rows: string[];
  next?: string;
}

const isEmpty = ({ rows }: Fields) => rows.length === 0;

function book(pages: Record<string, Fields>) {
  const asked: (string | undefined)[] = [];
  return {
    asked,
    read: async (cursor: string | undefined) => {
      asked.push(cursor);
      return pages[cursor ?? 'first'] ?? { rows: [] };
    },
  };
}

it('asks on past empty pages, and stops at the first that has something', async () => {
  const { asked, read } = book({
    first: { rows: [], next: 'b' },
    b: { rows: [], next: 'c' },
    c: { rows: ['x'], next: 'd' },
    d: { rows: ['y'] },
  });
  expect(await readUntilFound(read, isEmpty, undefined)).toEqual({ rows: ['x'], next: 'd' });
  expect(asked).toEqual([undefined, 'b', 'c']);
});

it('takes the first page as it is when it has rows, or when nothing follows', async () => {
  const { asked, read } = book({ first: { rows: ['x'], next: 'b' }, end: { rows: [] } });
  expect(await readUntilFound(read, isEmpty, undefined)).toEqual({ rows: ['x'], next: 'b' });
  expect(await readUntilFound(read, isEmpty, 'end')).toEqual({ rows: [] });
  expect(asked).toEqual([undefined, 'end']);
});

it('gives up after a while, and leaves it to the reader to go on', async () => {
  let count = 0;
  const found = await readUntilFound(async () => ({ rows: [] as string[], next: String((count += 1)) }), isEmpty, undefined);
  expect(count).toBe(100);
  expect(found.next).toBe('100');
});
