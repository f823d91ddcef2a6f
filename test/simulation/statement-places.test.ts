// Where a statement writes: harm that is aimed at a place must find it, whatever stands before the write.
import { describe, expect, it } from 'vitest';
import { placeOf, placeOfAll } from '../../simulation/statement-places.ts';

describe('the place of a statement', () => {
  it.each([
    ['select 1 from "commands" for update', undefined],
    ['insert into "commands" ("id") values (1)', 'insert commands'],
    ['delete from "idempotency_keys" where "key" = 1', 'delete idempotency_keys'],
    [
      'update "commands" set "state" = 1, "settled_at" = 2, "outcome_received_at" = 3 where "id" = 4',
      'update commands (state, settled_at)',
    ],
    [
      'with "due" as (select "id" from "callbacks" for update skip locked) update "callbacks" set "leased_by" = 1 where "id" in (2)',
      'update callbacks (leased_by)',
    ],
    ['with "held" as (select 1 from "invoices" for no key update) insert into "invoices" select 1', 'insert invoices'],
  ])('%s', (statement, place) => {
    expect(placeOf(statement)).toBe(place);
  });
});

describe('the place of several statements at once', () => {
  const time = 'select now_ms() as "now"';
  const begin = [
    'update "device_locks" as "row" set "sequence" = "row"."sequence" + 1, "command_id" = "new"."set-command_id" from "new"',
    'insert into "commands" ("id") select "new"."id" from "new"',
  ];
  it.each([
    ['a read', [time, 'select 1 from "commands"'], undefined],
    ['the begin of an operation', [time, ...begin], 'unit insert commands'],
    ['with its key', [time, ...begin, 'insert into "idempotency_keys" ("key") select 1'], 'unit insert commands + idempotency_keys'],
    [
      'a settlement that notifies',
      [
        time,
        'update "commands" as "row" set "version" = "row"."version" + 1, "state" = "new"."set-state" from "new"',
        'select must(changes() = 1)',
        'insert into "settlements" ("command_id") select 1',
        'insert into "callbacks" ("id") select 1',
      ],
      'unit update commands (version, state) + callbacks',
    ],
    ['only what is beside', [time, 'insert into "names" ("value") select 1'], 'unit insert names'],
    ['no unit: the last', ['update "invoices" set "state" = 1', 'insert into "invoice_events" ("oid") select 1'], 'insert invoice_events'],
  ])('%s', (_what, statements, place) => {
    expect(placeOfAll(statements)).toBe(place);
  });
});
