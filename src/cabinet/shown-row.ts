// A row in the form of the API: moments (`createdAtMs`) as ISO texts (`createdAt`), amounts (`amountBani`) in lei (`amount`), without nulls.
// Durations (`durationMs`) stay.
import { isoTime } from '../kernel/moments.ts';
import { baniToLei } from '../kernel/money.ts';

type Shown<Row> = {
  [Name in keyof Row as ShownName<Name>]: Row[Name] extends infer Value ? ShownValue<Name, Value> : never;
};
type ShownName<Name> = Name extends 'atMs'
  ? 'at'
  : Name extends `${infer Moment}AtMs`
    ? `${Moment}At`
    : Name extends `${infer Amount}Bani`
      ? Amount
      : Name;
type ShownValue<Name, Value> = Value extends null
  ? undefined
  : Name extends 'atMs' | `${string}AtMs`
    ? Value extends number
      ? string
      : Value
    : Value;

export function shownRow<Row extends object>(row: Row): Shown<Row> {
  const fields = Object.entries(row).flatMap(([name, value]: [string, unknown]) => {
    if (value === null || value === undefined) return [];
    if (typeof value === 'number' && /^atMs$|AtMs$/.test(name)) return [[name.slice(0, -2), isoTime(value)]];
    if (typeof value === 'number' && name.endsWith('Bani')) return [[name.slice(0, -4), baniToLei(value)]];
    return [[name, value]];
  });
  return Object.fromEntries(fields) as Shown<Row>;
}

/** Only the fields of the schema: for rows that have others, too. */
export function shownFields<Row extends object, Name extends string>(
  row: Row,
  schema: Record<Name, unknown>,
): Pick<Shown<Row>, Name & keyof Shown<Row>> {
  const fields = Object.entries(shownRow(row)).filter(([name]) => Object.hasOwn(schema, name));
  return Object.fromEntries(fields) as Pick<Shown<Row>, Name & keyof Shown<Row>>;
}
