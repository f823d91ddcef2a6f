// PostgreSQL's answers as the values that SQLite gives for the same query: whole numbers as numbers, booleans as 1 and 0.
import pg from 'pg';

const oids = { bool: 16, int8: 20, numeric: 1700 };

function exactNumber(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw new RangeError(`The database answered ${text}, which is no exact number here.`);
  return value;
}

const parsers: Record<number, (text: string) => unknown> = {
  [oids.bool]: (text) => (text === 't' ? 1 : 0),
  [oids.int8]: exactNumber,
  // sum() of int8 is numeric.
  [oids.numeric]: exactNumber,
};

// pg types this as a heap of overloads; it calls it with an oid and a format.
export const typeParsers: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') => parsers[oid] ?? pg.types.getTypeParser(oid, format ?? 'text'),
};
