// All queries of the cabinet, by name: each list, filter, search, page and sum, for an operator and for merchants.

import { readLastOfDevices } from '../../src/cabinet/views/device-facts.ts';
import { readAttention } from '../../src/cabinet/views/figures/attention.ts';
import { readShopDay, readShops } from '../../src/cabinet/views/figures/day-close.ts';
import { createMismatches } from '../../src/cabinet/views/figures/mismatches.ts';
import { createOverviewBook } from '../../src/cabinet/views/figures/overview.ts';
import type { PeriodName } from '../../src/cabinet/views/figures/period.ts';
import { listCallbackPage } from '../../src/cabinet/views/lists/callbacks-list.ts';
import type { CommandFilter } from '../../src/cabinet/views/lists/command-filter.ts';
import { listCommands } from '../../src/cabinet/views/lists/commands-list.ts';
import { type InvoiceFilter, listInvoices } from '../../src/cabinet/views/lists/invoices-list.ts';
import { search } from '../../src/cabinet/views/lists/search.ts';
import { readInvoicePage } from '../../src/cabinet/views/sale/invoice-page.ts';
import { readSalePage } from '../../src/cabinet/views/sale/sale-page.ts';
import type { Database, Queries } from '../../src/database/database.ts';
import { listEvents } from '../../src/ledger/timeline.ts';
import { callbackId, commandId, deviceId, type Filled, invoiceId } from './fill.ts';

export interface Question {
  name: string;
  /** Its bound in milliseconds. */
  boundMs: number;
  ask(queries: Queries): Promise<unknown>;
}

const list = 50;

export function questionsOf(database: Database, filled: Filled): Question[] {
  const { rows, endMs, bigMerchant, smallMerchant } = filled;
  const scopes = { all: undefined, big: bigMerchant, small: smallMerchant };
  const mismatches = createMismatches();
  const questions: Question[] = [];
  const add = (name: string, ask: Question['ask'], boundMs = list) => questions.push({ name, boundMs, ask });
  const middle = { atMs: endMs - 15 * 86_400_000, id: commandId(1) };
  const lateClose = closeNear(rows);

  const filters: Record<string, CommandFilter> = {
    payments: { mode: 'cards' },
    'fiscal operations': { mode: 'fiscal' },
    'payments of a device': { mode: 'cards', deviceId: deviceId(0) },
    'fiscal operations of a terminal (none)': { mode: 'fiscal', deviceId: deviceId(0) },
    'payments of a bank': { mode: 'cards', bank: 'maib' },
    'payments of a shop': { mode: 'cards', shop: 'POS-0-3' },
    'name CloseDay (rare)': { mode: 'cards', name: 'CloseDay' },
    'an amount that was never paid': { mode: 'cards', minBani: 99_999_999 },
    'state paid': { mode: 'cards', states: ['paid'] },
    'state declined': { mode: 'cards', states: ['declined'] },
    'state busy': { mode: 'cards', states: ['busy'] },
    'state voided (rare)': { mode: 'cards', states: ['voided'] },
    'state partly refunded (rare)': { mode: 'cards', states: ['partlyRefunded'] },
    'state not closed': { mode: 'cards', states: ['notClosed'] },
    'state unknown': { mode: 'cards', states: ['unknown'] },
    'state needs a person': { mode: 'cards', states: ['needsPerson'] },
    'declined fiscal operations (rare)': { mode: 'fiscal', states: ['declined'] },
    'a day': { mode: 'cards', fromMs: endMs - 10 * 86_400_000, toMs: endMs - 9 * 86_400_000 },
  };
  for (const [scopeName, merchantId] of Object.entries(scopes)) {
    const scope = { merchantId };
    for (const [name, filter] of Object.entries(filters)) {
      add(`list: ${name}, ${scopeName}`, (queries) => listCommands(queries, scope, filter, { limit: 50 }));
    }
    add(`list: payments, page far back, ${scopeName}`, (queries) =>
      listCommands(queries, scope, { mode: 'cards' }, { limit: 50, after: middle }),
    );
    add(`export: one page of 200, ${scopeName}`, (queries) =>
      listCommands(queries, scope, { mode: 'cards' }, { limit: 200, after: middle }),
    );
    const invoiceFilters: Record<string, InvoiceFilter> = {
      all: {},
      'expired (rare)': { state: 3 },
      'scanned (none)': { state: 1 },
      amount: { q: '100.10' },
    };
    for (const [name, filter] of Object.entries(invoiceFilters)) {
      add(`invoices: ${name}, ${scopeName}`, (queries) => listInvoices(queries, scope, filter, { limit: 50 }));
    }
    for (const state of [undefined, 'pending', 'dead', 'delivered'] as const) {
      add(`callbacks: ${state ?? 'all'}, ${scopeName}`, (queries) => listCallbackPage(queries, scope, { state }, { limit: 50 }));
    }
    add(`callbacks: of a host, ${scopeName}`, (queries) => listCallbackPage(queries, scope, { q: 'erp3.example' }, { limit: 50 }));
    for (const [name, q] of Object.entries({
      document: `doc-${rows - 10_000 - (rows % 2)}`,
      rrn: `rrn${Math.floor(rows / 400) * 400}`,
      'operation id': '00012a',
      OID: invoiceId(7),
      'beginning of an id': commandId(1_234).slice(0, 8),
      amount: '100.10',
      device: 'terminal 12',
      callback: callbackId(77),
      nothing: 'no-such-thing',
    })) {
      add(`search: ${name}, ${scopeName}`, (queries) => search(queries, scope, q));
    }
    add(`attention, ${scopeName}`, (queries) => readAttention(queries, scope, endMs, mismatches));
    add(`devices, ${scopeName}`, (queries) => readLastOfDevices(queries, scope));
    add(`day close: shops, ${scopeName}`, (queries) => readShops(queries, scope));
    for (const [period, boundMs] of [
      ['today', 150],
      ['yesterday', 150],
      ['7d', 300],
    ] as [PeriodName, number][]) {
      add(
        `overview ${period}, ${scopeName}`,
        (queries) =>
          createOverviewBook(mismatches).read(
            { queries, pages: queries, transaction: database.transaction },
            scope,
            period,
            'Europe/Chisinau',
            endMs,
          ),
        boundMs,
      );
    }
  }
  const sale = async (queries: Queries, id: string) =>
    readSalePage(queries, { merchantId: undefined }, id, await listEvents(queries, id), endMs);
  const payment = commandId(Math.floor(rows / 400) * 400);
  add('sale: a payment', (queries) => sale(queries, payment));
  add('sale: a receipt', (queries) => sale(queries, commandId(rows - (rows % 200) - 199)));
  add('invoice page', (queries) => readInvoicePage(queries, { merchantId: undefined }, invoiceId(Math.floor(rows / 20)), endMs));
  add('day close: a day', (queries) => readShopDay(queries, { merchantId: undefined }, lateClose));
  return questions;
}

/** The last bank-day close of the first device. */
function closeNear(rows: number): string {
  const turns = Math.floor(rows / 200);
  const turn = Math.floor((turns - 160) / 160) * 160 + 159;
  return commandId(turn * 200);
}
