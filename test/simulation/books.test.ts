// The comparison of the books notices every difference: a small true day holds, and each lie that is written into it is reported by its name.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkBooks } from '../../simulation/books/books.ts';
import type { CallRecord } from '../../simulation/erp/caller.ts';
import type { Erp } from '../../simulation/erp/erp.ts';
import type { InvoiceIntent } from '../../simulation/erp/invoice-sale.ts';
import type { Shop } from '../../simulation/shop.ts';
import type { ShopDevice } from '../../simulation/shop-devices.ts';
import { type Bank, type BankEntry, balanceRefusals } from '../../src/virtual/books/bank.ts';
import type { FiscalDocument } from '../../src/virtual/books/fiscal-memory.ts';
import { isNewCore } from '../support/core.ts';
import { sellTruly, type TrueDay } from './true-day.ts';

/** What is told in place of the truth. */
interface Lies {
  sql?: string;
  terminal?: ShopDevice;
  register?: ShopDevice;
  calls?: Map<string, CallRecord>;
  invoices?: InvoiceIntent[];
  received?: ReadonlySet<string>;
}

async function violationsOf({ shop, terminal, register, calls, intent }: TrueDay, lies: Lies): Promise<string[]> {
  const violations: string[] = [];
  const told = {
    ...shop,
    devices: [lies.terminal ?? terminal, lies.register ?? register],
    receiver: { ...shop.receiver, received: lies.received ?? shop.receiver.received },
    violated: (sentence: string) => void violations.push(sentence),
  } as Shop;
  const life = shop.fleet.anyLife();
  if (!life) throw new Error('No gateway is left.');
  // Nobody else acts while the clock stands, so the lie is gone again before anybody could believe it.
  // Not even the database would take most of them.
  shop.storage.peek('pragma ignore_check_constraints = on', []);
  const restore = keepTables(shop);
  try {
    for (const statement of lies.sql?.split(';') ?? []) shop.storage.peek(statement, []);
    await checkBooks(told, life.database, { calls: lies.calls ?? calls, invoices: lies.invoices ?? [intent] } as unknown as Erp);
  } finally {
    restore();
    shop.storage.peek('pragma ignore_check_constraints = off', []);
  }
  return violations;
}

/** Not by a transaction: the new core is asked within it, and reads in one of its own. */
function keepTables({ storage }: Shop): () => void {
  const names = storage.peek(`select name from sqlite_master where type = 'table' and name not like 'sqlite_%'`, []);
  for (const { name } of names) storage.peek(`create temp table "kept_${name}" as select * from main."${name}"`, []);
  return () => {
    storage.peek('pragma foreign_keys = off', []);
    for (const { name } of names) {
      storage.peek(`delete from main."${name}"`, []);
      storage.peek(`insert into main."${name}" select * from "kept_${name}"`, []);
      storage.peek(`drop table "kept_${name}"`, []);
    }
    storage.peek('pragma foreign_keys = on', []);
  };
}

/** The device with another bank behind it. */
function withBank(target: ShopDevice, change: (entries: BankEntry[]) => BankEntry[]): ShopDevice {
  const { bank } = target.device;
  const entries = change(bank.entries());
  const charges = entries.filter(({ kind }) => kind === 'charge');
  const told: Bank = {
    ...bank,
    entries: () => entries,
    find: (reference) => entries.filter((entry) => entry.reference === reference),
    charges: () => charges.map((entry) => ({ entry, refundedBani: 0, isVoided: false, isSettled: false })),
    netBani: () =>
      entries.reduce((sum, { kind, amountBani }) => sum + (kind === 'charge' ? amountBani : kind === 'refund' ? -amountBani : 0), 0),
  };
  return { ...target, device: { ...target.device, bank: told } };
}

/** The device with other documents in its fiscal memory. */
function withMemory(target: ShopDevice, change: (documents: FiscalDocument[]) => FiscalDocument[], drawerBani?: number): ShopDevice {
  const memory = target.device.fiscalMemory();
  const documents = change(memory.documents());
  const told = {
    ...memory,
    drawerBani: drawerBani ?? memory.drawerBani,
    documents: () => documents,
    find: (commandId: string) => documents.find((document) => document.commandId === commandId),
  };
  return { ...target, device: { ...target.device, fiscalMemory: () => told } };
}

describe('books that are compared', () => {
  let world: TrueDay;
  beforeAll(async () => {
    world = await sellTruly();
  });
  afterAll(() => world.shop.close());

  const update = (name: string, set: string) => `update commands set ${set} where name = '${name}'`;
  const strange = 'bbbbbbbb-0000-4000-8000-000000000001';
  const more = (entries: BankEntry[], change: Partial<BankEntry>) => [...entries, { ...(entries[0] as BankEntry), ...change }];
  const asAnswered = (name: string, change: Partial<CallRecord>, of: TrueDay) =>
    new Map([...of.calls].map(([id, call]) => [id, call.name === name ? { ...call, ...change } : call]));

  it('hold when they are true', async () => {
    expect(await violationsOf(world, {})).toEqual([]);
  });

  const lies: [what: string, told: RegExp, lie: (of: TrueDay) => Lies][] = [
    // Device and ledger.
    [
      'a charge that the ledger calls refused',
      /^Pay .* is "refused" in the ledger .* and it happened/,
      () => ({ sql: update('Pay', `state = 'refused'`) }),
    ],
    [
      'done, and the bank knows nothing',
      /^Pay .* is "done" in the ledger, and nothing of it happened/,
      (of) => ({ terminal: withBank(of.terminal, () => []) }),
    ],
    [
      'a charge that no ledger knows',
      /^the bank of terminal 1 has a charge of .*, which no ledger knows/,
      (of) => ({ terminal: withBank(of.terminal, (entries) => more(entries, { reference: strange })) }),
    ],
    [
      'what its device could tell, left open',
      /^Refund .* was left open \(unknown\)/,
      () => ({ sql: update('Refund', `state = 'unknown', settled_at = null`) }),
    ],
    [
      'open, and not on the review list',
      /^Refund .* is open and not on the review list/,
      () => ({ sql: update('Refund', `state = 'unknown', settled_at = null`) }),
    ],
    [
      '"Unknown" as the last word',
      /^Refund .* ended as unknown/,
      () => ({ sql: update('Refund', `state = 'unknown', settled_at = null`) }),
    ],
    ['settled twice', /^command .* was settled twice/, () => ({ sql: update('Refund', `state = 'refused'`) })],
    // After disputes.
    [
      'the document of a payment that was refused',
      /^Pay .* is refused, and its document is closed/,
      () => ({ sql: update('Pay', `state = 'refused'`) }),
    ],
    [
      'a document that was closed, and is open',
      /^Pay .* was closed, and its document is open/,
      () => ({ sql: update('Pay', `document_state = 'open'`) }),
    ],
    [
      'a document that was not closed, and is closed',
      /^Pay .* was not closed, and its document is closed/,
      () => ({ sql: update('CloseDoc', `state = 'refused', disputed_from = 'done', settled_at = issued_at`) }),
    ],
    [
      'a payment that is voided without a void',
      /^Pay .* is voided, and no void of it was done/,
      () => ({ sql: update('Pay', `document_state = 'voided'`) }),
    ],
    [
      'a bank number that is not the bank’s',
      /^Pay .* has the operationId 9 instead of 000001/,
      () => ({ sql: update('Pay', `operation_id = '9'`) }),
    ],
    [
      'a receipt number that its register could tell',
      /^PrintReceipt .* has the receiptId undefined instead of/,
      () => ({ sql: update('PrintReceipt', `report = '{}'`) }),
    ],
    [
      'an amount left of a payment that is not the bank’s',
      /^the status of Pay .* is 0 Closed, and by the bank's book 0 Closed, 7 left/,
      () => ({ sql: `${update('Refund', `state = 'refused', disputed_from = 'done'`)};${update('Pay', 'refunded_bani = 0')}` }),
    ],
    // Terminals.
    [
      'two charges for one command',
      /^Pay .* was charged 2 times/,
      (of) => ({ terminal: withBank(of.terminal, (entries) => more(entries, {})) }),
    ],
    [
      'two charges for one document',
      /^document .* was charged 2 times/,
      (of) => ({ terminal: withBank(of.terminal, (entries) => more(entries, { reference: strange })) }),
    ],
    [
      'two charges for one sale without a number',
      /^the sale of 1000 without documentNr was charged 2 times/,
      (of) => ({
        terminal: withBank(of.terminal, ([first]) =>
          [1, 2].map((at) => ({ ...(first as BankEntry), documentNr: undefined, reference: `${strange}${at}` }) as unknown as BankEntry),
        ),
      }),
    ],
    ['refunds over the payment', /^of Pay .* over 1000 bani 1300 were refunded/, () => ({ sql: update('Refund', 'amount_bani = 1300') })],
    [
      'other sums at the bank',
      /^the ledger says 701 bani for terminal 1, the bank 700/,
      () => ({ sql: update('Refund', 'amount_bani = 299') }),
    ],
    [
      'what the bank had to refuse for the ledger',
      /^Refund .* and the bank had to refuse it/,
      () => ({ sql: update('Refund', `state = 'refused', reason = '${balanceRefusals.overRemainder}'`) }),
    ],
    [
      'a void that is not on its payment',
      /^Pay .* was voided, and its document is closed/,
      () => ({ sql: update('Refund', `name = 'CancelTransaction'`) }),
    ],
    // Registers.
    [
      'one command printed twice',
      /^command .* was printed 2 times/,
      (of) => ({ register: withMemory(of.register, (documents) => [...documents, ...documents]) }),
    ],
    [
      'one receipt printed by two commands',
      /^the receipt of 2000 was printed 2 times/,
      (of) => ({
        register: withMemory(of.register, (documents) => [...documents, { ...(documents[0] as FiscalDocument), commandId: strange }]),
      }),
    ],
    [
      'cash moved by two commands',
      /^moneyIn of 500 was written 2 times/,
      (of) => ({
        register: withMemory(of.register, (documents) => [...documents, { ...(documents[1] as FiscalDocument), commandId: strange }]),
      }),
    ],
    [
      'a document that no ledger knows',
      /^the memory of register 1 has a document of .*, which no ledger knows/,
      (of) => ({
        register: withMemory(of.register, (documents) => [...documents, { ...(documents[0] as FiscalDocument), commandId: strange }]),
      }),
    ],
    [
      'charged and not printed',
      /^PrintReceipt .* was not printed, and 2000 of 2000 bani are charged/,
      (of) => ({ register: withMemory(of.register, (documents) => documents.slice(1)) }),
    ],
    [
      'printed and not charged',
      /^PrintReceipt .* was printed, and 0 of 2000 bani are charged/,
      (of) => ({ register: withBank(of.register, () => []) }),
    ],
    [
      'another drawer',
      /^the ledger says 500 bani for the drawer of register 1, the register 499/,
      (of) => ({ register: withMemory(of.register, (documents) => documents, 499) }),
    ],
    ['another Z', /^Z .* of register 1 says 2000 bani, the ledger 1999/, () => ({ sql: update('PrintReceipt', 'amount_bani = 1999') })],
    // Answers.
    [
      '0 without the operation',
      /^Refund .* was answered 0, and its own command .* is refused/,
      () => ({ sql: update('Refund', `state = 'refused'`) }),
    ],
    [
      '0 that names what was not done',
      /^MoneyIn .* was answered 0, and Refund .* is refused/,
      (of) => ({
        sql: update('Refund', `state = 'refused'`),
        calls: asAnswered('MoneyIn', { oid: [...of.calls.values()].find(({ name }) => name === 'Refund')?.oid }, of),
      }),
    ],
    ...[1, 2, 30, 31, 40, 41, 50].map((code): (typeof lies)[number] => [
      `${code} for what was done`,
      new RegExp(`^Refund .* was answered ${code}, and its own command .* was done`),
      (of) => ({ calls: asAnswered('Refund', { code }, of) }),
    ]),
    [
      'an answer without its OID',
      /^Refund .* was answered 3 without the OID/,
      (of) => ({ calls: asAnswered('Refund', { code: 3, oid: undefined }, of) }),
    ],
    // Callbacks.
    ['a callback that waits for ever', /^callback 1 of .* is still pending/, () => ({ sql: `update callbacks set state = 'pending'` })],
    ['delivered, and not received', /^callback 1 of .* is "delivered", and no ERP received it/, () => ({ received: new Set<string>() })],
    ['dead too early', /^callback 1 of .* is dead after 1 attempts/, () => ({ sql: `update callbacks set state = 'dead'` })],
    [
      'another last word',
      /^PrintReceipt .* is done, and the last notice to the ERP is .*state=Unknown/,
      () => ({ sql: `update callbacks set url = replace(url, 'Completed', 'Unknown')` }),
    ],
    [
      'no notice',
      /^PrintReceipt .* is done, and the last notice to the ERP is nothing/,
      () => ({ sql: 'delete from callback_attempts; delete from callbacks' }),
    ],
    ['a gap in the notices', /^the notices of PrintReceipt .* have gaps/, () => ({ sql: 'update callbacks set sequence = sequence + 10' })],
    ['more notices than changes', /^PrintReceipt .* has 3 notices/, (of) => ({ sql: `${copyOfNotices(of, 2)};${copyOfNotices(of, 3)}` })],
    // Invoices.
    ['no such invoice', /was answered 0, and there is no such invoice/, (of) => ({ invoices: [{ ...of.intent, oid: strange }] })],
    ['two under one key', /was created 2 times under one Idempotency-Key/, (of) => ({ sql: copyOfInvoice(of) })],
    [
      'paid by another receipt',
      /Payd by first was answered 0, and it is Payed by third/,
      () => ({ sql: `update invoices set receipt_id = 'third'` }),
    ],
    [
      'paid, and the payer was answered 22',
      /Payd by second was answered 22, and it is Payed by it/,
      () => ({ sql: `update invoices set receipt_id = 'second'` }),
    ],
    [
      'a payment that is on no board',
      /Payd by second was answered 22, and it is not on the orphan board/,
      () => ({ sql: 'delete from orphan_payments' }),
    ],
    [
      'aborted, and it goes on',
      /it was withdrawn, or its card payment aborted, with 0, and it is Scanned/,
      (of) => ({ sql: 'update invoices set state = 1', invoices: [{ ...of.intent, isAborted: true }] }),
    ],
    ['overdue', /^invoice .* is overdue and Scanned/, () => ({ sql: 'update invoices set state = 1, valid_to = 1' })],
    [
      'a move without its notice',
      /^invoice .* went Scanned, Payed, and its ERP is notified Payed/,
      () => ({ sql: `delete from callback_attempts; delete from callbacks where subject_kind = 'invoice' and sequence = 1` }),
    ],
    ['another history', /^invoice .* is Expired, and its history ends with Payed/, () => ({ sql: 'update invoices set state = 3' })],
  ];

  const storedLies: [what: string, told: RegExp, sql: string][] = [
    ['a stored standing', /^Pay .* is stored as Done, and by its states it is Closed/, update('Pay', `standing = 'Done'`)],
    ['a stored sum', /^of Pay .*, 299 bani are stored as refunded instead of 300/, update('Pay', 'refunded_bani = 299')],
    ['a free device', /^device .* is locked by null, and .* is open/, update('Refund', `state = 'unknown', settled_at = null`)],
    ['a document', /^device .* has the document null, and .* is not closed/, update('Pay', `document_state = 'open'`)],
    ['a decision that waits', /^device .* waits for nothing, and not confirmed are/, update('Refund', 'is_unconfirmed = 1')],
    ['a number', /^Pay .* is done, and its number .* does not list it/, `update names set ops = '[]'`],
    ['an attempt', /^PrintReceipt .* is attempt 2 of 1 under/, update('PrintReceipt', 'attempt = 2')],
    [
      'a correction',
      /^Refund .* is corrected by 7 bani instead of 0/,
      `insert into money_corrections (operation_id, amount_bani, at) select id, 7, 0 from commands where name = 'Refund'`,
    ],
    [
      'a correction that is missing',
      /^Refund .* is corrected by 0 bani instead of 300/,
      `${update('Refund', `state = 'disputed'`)};${update('Refund', `state = 'refused'`)}`,
    ],
  ];
  it.runIf(isNewCore).each(storedLies)('tell of a lie in what the new core stores: %s', async (_what, told, sql) => {
    expect(await violationsOf(world, { sql })).toContainEqual(expect.stringMatching(told));
  });

  it.each(lies)('tell of %s', async (_what, told, lie) => {
    const violations = await violationsOf(world, lie(world));
    expect(violations).toContainEqual(expect.stringMatching(told));
  });

  const columnsOf = ({ shop }: TrueDay, table: string, without: readonly string[]) =>
    shop.storage
      .peek(`select name from pragma_table_info('${table}')`, [])
      .map(({ name }) => String(name))
      .filter((name) => !without.includes(name))
      .join(', ');

  function copyOfInvoice(of: TrueDay): string {
    const columns = columnsOf(of, 'invoices', ['oid']);
    return `insert into invoices (oid, ${columns}) select '${strange}', ${columns} from invoices`;
  }

  function copyOfNotices(of: TrueDay, sequence: number): string {
    const columns = columnsOf(of, 'callbacks', ['id', 'sequence']);
    const ofPrint = `sequence = 1 and subject_id in (select id from commands where name = 'PrintReceipt')`;
    return `insert into callbacks (id, sequence, ${columns}) select id || '${sequence}', ${sequence}, ${columns} from callbacks where ${ofPrint}`;
  }
});
