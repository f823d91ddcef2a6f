// A month of many shops, written by the database itself: commands with their steps, invoices with their histories, callbacks with their
// attempts. Everything is derived from a row's number, so that both engines have the same rows and a row can be computed without a query.
// One shop has half of all devices, beside many small ones, and rare events are rare here too.
import { type RawBuilder, sql } from 'kysely';
import type { Database, Queries } from '../../src/database/database.ts';
import { fillBare } from './bare-tables.ts';

export interface Filled {
  rows: number;
  invoices: number;
  startMs: number;
  endMs: number;
  bigMerchant: string;
  smallMerchant: string;
}

export const deviceCount = 200;
const merchantCount = 41;
/** Tables with a row or more for each call. */
export const growing = [
  'commands',
  'command_events',
  'invoices',
  'invoice_events',
  'callbacks',
  'callback_attempts',
  'settlements',
  'bank_operations',
];
const days = 30;
const dayMs = 86_400_000;
const rowsPerStatement = 4_000;
const bareRowsPerStatement = 250_000;
/** A device's commands of a day, about. */
const commandsPerClose = 160;

/** A small merchant has two or three devices of the second half. */
const merchantOf = (device: number) => (device < deviceCount / 2 ? 0 : 1 + (device % (merchantCount - 1)));
/** A text like a UUID that only looks random. */
export const idOf = (kind: number, number: number) =>
  `${((number * 2_654_435_761) % 4_294_967_296).toString(16).padStart(8, '0')}-000${kind}-4000-8000-${number.toString(16).padStart(12, '0')}`;
export const commandId = (number: number) => idOf(1, number);
export const invoiceId = (number: number) => idOf(2, number);
export const callbackId = (number: number) => idOf(3, number);
export const deviceId = (number: number) => idOf(4, number);
export const merchantId = (number: number) => idOf(5, number);

type Sql = RawBuilder<unknown>;

interface FillOptions {
  /** A tenth of the commands by default. */
  invoices?: number;
  /** Two for each invoice; a smaller number is assigned to the oldest. */
  callbacks?: number;
  /** The address of a PostgreSQL that is filled without indexes; its rows are deleted first. */
  bareUrl?: string | undefined;
  say?(text: string): void;
}

/** The numbers of commands and invoices. */
export async function fill(
  database: Database,
  rows: number,
  endMs: number,
  { invoices = Math.floor(rows / 10), callbacks = 2 * invoices, bareUrl, say = () => {} }: FillOptions = {},
): Promise<Filled> {
  const startMs = endMs - days * dayMs;
  await fillShops(database.queries, startMs);
  const sqlOf = statementsOf(database.engine, { rows, invoices, startMs, endMs });
  const labelled = [
    ['commands', rows, sqlOf.commands],
    ['settlements', rows, sqlOf.settlements],
    ['bank numbers', rows, sqlOf.bankNumbers],
    ['steps', rows, sqlOf.steps],
    ['invoices', invoices, sqlOf.invoices],
    ['histories', invoices, sqlOf.histories],
    ['callbacks', callbacks, sqlOf.callbacks],
    ['tries', callbacks, sqlOf.tries],
  ] as const;
  const writeAll = async (part: number, run: (statement: RawBuilder<unknown>) => Promise<unknown>) => {
    for (const [label, count, statement] of labelled) await inParts(part, count, label, (first, last) => run(statement(first, last)), say);
  };
  if (bareUrl !== undefined)
    await fillBare(bareUrl, growing, {
      write: (queries) => writeAll(bareRowsPerStatement, (statement) => statement.execute(queries)),
      say,
    });
  else {
    await writeAll(rowsPerStatement, (statement) => database.transaction(async (queries) => void (await statement.execute(queries))));
    // One table at a time: statements have a time-out.
    if (database.engine === 'postgres') for (const table of growing) await sql`analyze ${sql.table(table)}`.execute(database.queries);
  }
  if (database.engine === 'postgres') await sql`analyze merchants, devices`.execute(database.queries);
  return { rows, invoices, startMs, endMs, bigMerchant: merchantId(0), smallMerchant: merchantId(7) };
}

async function inParts(
  part: number,
  count: number,
  label: string,
  write: (first: number, last: number) => Promise<unknown>,
  say: (text: string) => void,
): Promise<void> {
  for (let first = 1; first <= count; first += part) {
    const last = Math.min(first + part - 1, count);
    await write(first, last);
    if (last % (50 * rowsPerStatement) === 0 || part > rowsPerStatement || last === count) say(`${label}: ${last}`);
  }
}

async function fillShops(queries: Queries, startMs: number): Promise<void> {
  for (let number = 0; number < merchantCount; number += 1) {
    const row = { id: merchantId(number), name: `Shop ${number}`, callback_secret: 'c2VjcmV0', created_at: startMs };
    await queries.insertInto('merchants').values(row).execute();
  }
  await queries.insertInto('qr_secrets').values({ id: 1, secret: 'c2VjcmV0', created_at: startMs }).execute();
  const banks = ['maib', 'micb', 'victoria', 'otp'];
  for (let number = 0; number < deviceCount; number += 1) {
    const isTerminal = number % 2 === 0;
    await queries
      .insertInto('devices')
      .values({
        id: deviceId(number),
        merchant_id: merchantId(merchantOf(number)),
        kind: isTerminal ? 'terminal' : 'register',
        name: `${isTerminal ? 'Terminal' : 'Register'} ${number}`,
        bank: isTerminal ? (banks[(number / 2) % banks.length] ?? null) : null,
        point_of_sales_code: `POS-${merchantOf(number)}-${Math.floor(number / 4)}`,
        created_at: startMs,
      })
      .execute();
  }
  await sql`insert into device_locks (device_id) select id from devices`.execute(queries);
}

function statementsOf(engine: Database['engine'], { rows, invoices, startMs, endMs }: Omit<Filled, 'bigMerchant' | 'smallMerchant'>) {
  const hex = (value: Sql, width: number): Sql =>
    engine === 'postgres'
      ? sql`lpad(to_hex(cast(${value} as bigint)), ${sql.lit(width)}, '0')`
      : sql`printf(${sql.lit(`%0${width}x`)}, ${value})`;
  const id = (kind: number, value: Sql): Sql =>
    sql`${hex(sql`(cast(${value} as bigint) * 2654435761) % 4294967296`, 8)} || ${sql.lit(`-000${kind}-4000-8000-`)} || ${hex(value, 12)}`;
  const numbers = (first: number, last: number): Sql =>
    engine === 'postgres'
      ? sql`numbers (n) as (select generate_series(cast(${first} as bigint), cast(${last} as bigint)))`
      : sql`recursive numbers (n) as (select ${first} union all select n + 1 from numbers where n < ${last})`;
  const device = sql`(n % ${sql.lit(deviceCount)})`;
  const merchant = (of: Sql): Sql =>
    sql`case when ${of} < ${sql.lit(deviceCount / 2)} then 0 else 1 + ${of} % ${sql.lit(merchantCount - 1)} end`;
  const at = (of: number, value: Sql): Sql => sql`${sql.lit(startMs)} + ${value} * ${sql.lit(endMs - startMs)} / ${sql.lit(of + 1)}`;
  const turn = sql`(n / ${sql.lit(deviceCount)})`;
  const lot = sql`(n * 7919 % 1000)`;
  // A payment and its close; sometimes a refund or a void instead of the close; a close of the day.
  const name = sql`case
    when ${turn} % ${sql.lit(commandsPerClose)} = ${sql.lit(commandsPerClose - 1)} then case when ${device} % 2 = 0 then 'CloseDay' else 'Report' end
    when ${device} % 2 = 1 then case when ${lot} < 10 then 'MoneyIn' when ${lot} < 20 then 'MoneyOut' else 'PrintReceipt' end
    when ${turn} % 2 = 0 then 'Pay' when ${turn} % 100 = 51 then 'CancelTransaction' when ${turn} % 100 = 1 then 'Refund' else 'CloseDoc' end`;
  const payState = sql`case when ${turn} % 2 = 0 and ${device} % 2 = 0 and ${lot} < 25 then 'refused'
    when ${turn} % 2 = 0 and ${device} % 2 = 0 and ${lot} < 35 then 'never' when ${device} % 2 = 1 and ${lot} between 500 and 504 then 'refused' else 'done' end`;
  const stated = (first: number, last: number) => sql`with ${numbers(first, last)},
    shaped as (select n, ${name} as name, ${payState} as drawn, ${lot} as lot, ${device} as device, ${turn} as turn, ${at(rows, sql`n`)} as at from numbers),
    stated as (select shaped.*, case when name in ('CloseDay', 'Report') then 'done' else drawn end as state from shaped)`;
  const settledAt = sql`at + 900 + lot * 20`;
  const bankNumber = hex(sql`turn`, 6);
  const commands = (first: number, last: number) => sql`
    insert into commands (id, merchant_id, device_id, instance_id, name, mode, is_payment, closes_day, args, state, amount_bani, document_nr, operation_id, rrn, target_id,
      receipt_uid, journal_id, issued_at, answer_by, settled_at, settled_by, outcome, report, recalls, document_state, request_hash, outcome_received_at,
      accepted_at, receipt_id, cash_bani, card_bani, caller, request)
    ${stated(first, last)}
    select ${id(1, sql`n`)}, ${id(5, merchant(sql`device`))}, ${id(4, sql`device`)}, 'load', name, case when device % 2 = 0 then 'POS' else 'Fiscal' end, case when name = 'Pay' then 1 else 0 end,
      case when name in ('CloseDay', 'Report') then 1 else 0 end,
      case name when 'Report' then '{"fiscal":true}' when 'PrintReceipt' then '{"receipt":{"Uid":"uid","Items":[{"Name":"Pâine albă","Quantity":2,"Price":6.25},{"Name":"Lapte 1 l","Quantity":1,"Price":18.9}],"Payments":[{"PaymentCode":0}]}}' else '{"amount":"12.50"}' end,
      state, case when name in ('Pay', 'Refund', 'PrintReceipt', 'MoneyIn', 'MoneyOut', 'CancelTransaction') then 1000 + n * 31 % 60000 end,
      case when name = 'Pay' then case when n % 20 = 0 and n / 20 <= ${sql.lit(invoices)} then ${id(2, sql`n / 20`)} else 'doc-' || n end end,
      case when name = 'Pay' and state = 'done' then ${bankNumber} end, case when name = 'Pay' and state = 'done' then 'rrn' || n end,
      case when n > ${sql.lit(deviceCount)} and name in ('CloseDoc', 'CancelTransaction', 'Refund') then ${id(1, sql`n - ${sql.lit(deviceCount)}`)} end,
      case when name = 'PrintReceipt' then 'uid-' || n end, 'journal', at, at + 300000, ${settledAt}, case when lot = 777 then 'recall' else 'answer' end,
      case when state = 'never' then case when lot < 30 then 'busy' else 'expired' end else state end,
      case when state = 'done' then '{"amount":"12.50","authCode":"123456","maskedCard":"411111******1111","time":"2026-11-01T10:00:00Z","token":"a-token-of-the-bank-that-is-long-enough-to-be-real"}' end,
      0, case when name = 'Pay' and state = 'done' then case when turn % 100 = 50 then 'voided' else 'closed' end end,
      case when name = 'CloseDay' then 'hash' end, at + 1000, at + 200, case when name = 'PrintReceipt' and state = 'done' then 'R-' || n end,
      case when name = 'PrintReceipt' then case when n % 3 = 0 then 0 else 1000 + n * 31 % 60000 end end,
      case when name = 'PrintReceipt' then case when n % 3 = 0 then 1000 + n * 31 % 60000 else 0 end end,
      'key load', '{"method":"POST","path":"/Device/payment/Pay","body":{"DeviceID":"a device","amount":"12.50","documentNr":"a document of some length","timeout":90}}'
    from stated`;
  const settlements = (first: number, last: number) => sql`
    insert into settlements (settled_at, command_id, failed_merchant_id, failed_issued_at, changes_past)
    ${stated(first, last)} select ${settledAt}, ${id(1, sql`n`)}, case when state <> 'done' then ${id(5, merchant(sql`device`))} end,
      case when state <> 'done' then at end, case when name = 'CancelTransaction' then 1 end from stated`;
  const bankNumbers = (first: number, last: number) => sql`
    insert into bank_operations (device_id, operation_id, payment_id)
    ${stated(first, last)} select ${id(4, sql`device`)}, ${bankNumber}, ${id(1, sql`n`)} from stated where name = 'Pay' and state = 'done'`;
  const steps = (first: number, last: number) => sql`
    insert into command_events (command_id, at, step, channel, detail)
    with ${numbers(first, last)}, steps (step, plus) as (select 'sent', 20 union all select 'answered', 800 union all select 'settled', 820)
    select ${id(1, sql`n`)}, ${at(rows, sql`n`)} + plus, step, case when step = 'settled' then null else 'mqtt' end, case when step = 'settled' then 'done' end
    from numbers cross join steps`;
  const state = sql`case when n % 50 = 7 then 3 when n % 50 = 9 then 4 when n % 50 = 11 then 0 else 2 end`;
  const invoicesSql = (first: number, last: number) => sql`
    insert into invoices (oid, merchant_id, qr_secret_id, state, receipt, valid_to, receipt_id, paid_device_id, callback_sequence, created_at,
      scanned_at, ended_at, amount_bani)
    with ${numbers(first, last)}, shaped as (select n, ${state} as state, ${device} as device, ${at(invoices, sql`n`)} as at from numbers)
    select ${id(2, sql`n`)}, ${id(5, merchant(sql`device`))}, 1, state, '{"Items":[{"Name":"Pâine albă","Quantity":2,"Price":6.25}]}', at + 600000,
      case when state = 2 then 'R-' || n end, case when state = 2 then ${id(4, sql`device`)} end, 2, at, at + 5000,
      case when state in (2, 3, 4) then at + 30000 end, 1000 + n * 17 % 90000
    from shaped`;
  const histories = (first: number, last: number) => sql`
    insert into invoice_events (oid, at, event, detail)
    with ${numbers(first, last)}, events (event, plus) as (select 'Scanned', 5000 union all select 'Payed', 30000)
    select ${id(2, sql`n`)}, ${at(invoices, sql`n`)} + plus, event, '{}' from numbers cross join events`;
  const fate = sql`case when n % 2000 = 5 then 'dead' when n % 4000 = 9 then 'pending' else 'delivered' end`;
  const subject = sql`((n + 1) / 2)`;
  const callbacks = (first: number, last: number) => sql`
    insert into callbacks (id, merchant_id, subject_kind, subject_id, sequence, url, host, state, attempts, next_attempt_at, created_at, ended_at)
    with ${numbers(first, last)}, shaped as (select n, ${fate} as state, ${subject} as subject, ${at(invoices, subject)} as at from numbers)
    select ${id(3, sql`n`)}, ${id(5, merchant(sql`(subject % ${sql.lit(deviceCount)})`))}, 'invoice', ${id(2, sql`subject`)}, 1 + n % 2,
      'https://erp.example/invoice?state=2', 'erp' || subject % ${sql.lit(deviceCount)} || '.example', state, 1,
      case when state = 'pending' then at + 60000 end, at + 30000, case when state <> 'pending' then at + 31000 end
    from shaped`;
  const tries = (first: number, last: number) => sql`
    insert into callback_attempts (callback_id, attempt, at, status, duration_ms, response_head)
    with ${numbers(first, last)}
    select ${id(3, sql`n`)}, 1, ${at(invoices, subject)} + 30500, case ${fate} when 'delivered' then 200 else 500 end, 120, 'ok' from numbers`;
  return { commands, settlements, bankNumbers, steps, invoices: invoicesSql, histories, callbacks, tries };
}
