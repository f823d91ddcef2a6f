// Where a statement writes: harm that is aimed at a place must find it, whatever stands before the write.
import { describe, expect, it } from 'vitest';
import { placeOf } from '../../simulation/statement-places.ts';

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
