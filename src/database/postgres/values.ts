// Converts PostgreSQL's values to those that SQLite returns for the same query: integers as numbers, booleans as 1 and 0.
import pg from 'pg';

const oids = { bool: 16, int8: 20, numeric: 1700 };

function exactNumber(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw new RangeError(`The database returned ${text}, which JavaScript cannot represent exactly.`);
  return value;
}

const parsers: Record<number, (text: string) => unknown> = {
  [oids.bool]: (text) => (text === 't' ? 1 : 0),
  [oids.int8]: exactNumber,
  // sum() of int8 is numeric.
  [oids.numeric]: exactNumber,
};

// pg declares many overloads; it calls this with an oid and a format.
export const typeParsers: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') => parsers[oid] ?? pg.types.getTypeParser(oid, format ?? 'text'),
};
