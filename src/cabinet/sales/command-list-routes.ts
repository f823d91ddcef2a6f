// Payments and fiscal operations as pages and as CSV, and the search box. The logic is in the views.
import { type Static, Type } from 'typebox';
import type { Database } from '../../database/database.ts';
import { textField, uuidField } from '../../http/schemas.ts';
import type { RouteApp } from '../../http/server.ts';
import { viewerOf } from '../../http/viewer.ts';
import { invalidRequest } from '../../kernel/error-codes.ts';
import { isoTime } from '../../kernel/moments.ts';
import { baniToLei, formatLei } from '../../kernel/money.ts';
import { ledgerCommandNames } from '../../link/protocol.ts';
import { addRoute } from '../add-route.ts';
import {
  amountOf,
  csvAnswers,
  listFields,
  nextField,
  pageOfQuery,
  scopeOfView,
  sendCsv,
  spanFields,
  spanOf,
  textShown,
} from '../list-fields.ts';
import { exampleTime, listOf, moment } from '../shared-schemas.ts';
import { exampleListed, listedCommand, shownCommand } from '../shown-command.ts';
import { shownRow } from '../shown-row.ts';
import type { CommandFilter } from '../views/lists/command-filter.ts';
import { type ListedCommand, listCommands } from '../views/lists/commands-list.ts';
import { totalOfCommands } from '../views/lists/commands-total.ts';
import { writeCursor } from '../views/lists/cursor.ts';
import type { CsvExports, CsvList } from '../views/lists/export.ts';
import { readSaleColumns } from '../views/lists/sale-columns.ts';
import { search } from '../views/lists/search.ts';
import { type ShownState, shownStates } from '../views/shown-state.ts';

const optional = Type.Optional;

const filterFields = {
  mode: optional(Type.Enum(['cards', 'fiscal'])),
  name: optional(Type.Enum([...ledgerCommandNames])),
  state: optional(textField('One state, or several separated by commas.', 200)),
  q: optional(
    textField(
      'Document, rrn, operation id, Receipt.Uid, receipt or authorization number or the beginning of one, the last four digits of a card, amount.',
      128,
    ),
  ),
  deviceId: optional(uuidField('Only operations of this device.')),
  bank: optional(textField('Code of a bank.', 32)),
  shop: optional(textField('Point-of-sale code.', 100)),
  minAmount: optional(textField('In lei.', 20)),
  maxAmount: optional(textField('In lei.', 20)),
  ...spanFields,
};
const listQuery = Type.Object({ ...listFields, ...filterFields });

function filterOf(query: Static<typeof listQuery>): CommandFilter {
  const q = query.q?.trim();
  return {
    mode: query.mode,
    name: query.name,
    states: statesOf(query.state),
    q: q === '' ? undefined : q,
    deviceId: query.deviceId?.toLowerCase(),
    bank: query.bank,
    shop: query.shop,
    minBani: amountOf('minAmount', query.minAmount),
    maxBani: amountOf('maxAmount', query.maxAmount),
    ...spanOf(query),
  };
}

function statesOf(text: string | undefined): ShownState[] | undefined {
  if (text === undefined || text === '') return undefined;
  return text.split(',').map((name) => {
    const state = shownStates.find((one) => one === name.trim());
    if (state === undefined) throw invalidRequest(`state must be one of ${shownStates.join(', ')}.`);
    return state;
  });
}

const csvColumns: CsvList<ListedCommand>['columns'] = {
  time: ({ issuedAtMs }) => isoTime(issuedAtMs),
  id: ({ id }) => id,
  operation: ({ name }) => name,
  state: ({ shownState }) => shownState,
  // Two decimals as on paper; it begins with a digit, so spreadsheets read it as a number.
  amount: ({ amountBani }) => (amountBani === null ? undefined : formatLei(amountBani)),
  refunded: ({ refundedBani }) => (refundedBani > 0 ? formatLei(refundedBani) : undefined),
  document: ({ documentNr }) => documentNr,
  rrn: ({ rrn }) => rrn,
  operationId: ({ operationId }) => operationId,
  receiptUid: ({ receiptUid }) => receiptUid,
  receiptNumber: ({ receiptId }) => receiptId,
  device: ({ deviceName }) => deviceName,
  shop: ({ shop }) => shop,
  bank: ({ bank }) => bank,
  merchant: ({ merchantName }) => merchantName,
  settledBy: ({ settledBy }) => settledBy,
};

const rowsPerRead = 500;

export function registerCommandListRoutes(app: RouteApp, { database, csvExports }: { database: Database; csvExports: CsvExports }): void {
  addRoute(app, 'GET /commands', 'listCommands', {
    summary: 'Payments and fiscal operations',
    description: 'Newest first. If few rows match, a page may be shorter than its limit and still have a next one.',
    querystring: listQuery,
    answer: {
      description: 'One page.',
      fields: { commands: Type.Array(listedCommand), ...nextField },
      example: { commands: [exampleListed], next: 'MTc2' },
    },
    handle: async (request) => {
      const { query } = request;
      const scope = scopeOfView(request, query.merchantId);
      const { commands, next } = await listCommands(database.pages, scope, filterOf(query), pageOfQuery(query));
      const columns = await readSaleColumns(database.pages, commands);
      return {
        commands: commands.map((command) => ({ ...shownCommand(command), ...columns.get(command.id) })),
        next: next && writeCursor(next),
      };
    },
  });

  addRoute(app, 'GET /commands/total', 'totalCommands', {
    summary: 'Number and sum of the payments and fiscal operations that match a filter',
    querystring: listQuery,
    answer: {
      description: 'Counts at most the newest twenty thousand.',
      fields: {
        count: Type.Integer(),
        doneCount: Type.Integer({ description: 'Operations that were done and not voided.' }),
        doneSum: Type.Number({ description: 'Their amounts, in lei.' }),
        isCut: Type.Boolean({ description: 'There are more.' }),
      },
      example: { count: 507, doneCount: 494, doneSum: 41_289.3, isCut: false },
    },
    handle: async (request) => {
      const scope = scopeOfView(request, request.query.merchantId);
      const { doneBani, ...total } = await totalOfCommands(database.pages, scope, filterOf(request.query));
      return { ...total, doneSum: baniToLei(doneBani) };
    },
  });

  addRoute(app, 'GET /commands.csv', 'exportCommands', {
    summary: 'Payments and fiscal operations as CSV',
    description: 'All matching operations, newest first. Cells that a spreadsheet would read as a formula begin with an apostrophe.',
    querystring: listQuery,
    response: csvAnswers('The list.'),
    handle: async (request, reply) => {
      const scope = scopeOfView(request, request.query.merchantId);
      const filter = filterOf(request.query);
      const stream = csvExports.start(viewerOf(request), {
        columns: csvColumns,
        readPage: async (after) => {
          const { commands, next } = await listCommands(database.pages, scope, filter, { limit: rowsPerRead, after });
          return { rows: commands, next };
        },
      });
      return sendCsv(reply, 'operations.csv', stream);
    },
  });

  addRoute(app, 'GET /search', 'search', {
    summary: 'Find anything by an id, a name or an amount',
    querystring: Type.Object({ merchantId: listFields.merchantId, q: textField('What to look for.', 128) }),
    answer: {
      description: 'At most ten of each kind.',
      fields: {
        results: listOf({
          kind: Type.Enum(['command', 'invoice', 'device', 'callback']),
          id: Type.String(),
          title: textShown,
          at: moment,
          amount: optional(Type.Number()),
          shop: optional(Type.String()),
        }),
      },
      example: {
        results: [
          {
            kind: 'command',
            id: exampleListed.id,
            title: { key: 'search.command', params: { name: 'Pay', state: 'paid', device: 'Till 1' } },
            at: exampleTime,
            amount: 150.5,
          },
        ],
      },
    },
    handle: async (request) => {
      const results = await search(database.pages, scopeOfView(request, request.query.merchantId), request.query.q);
      return { results: results.map(shownRow) };
    },
  });
}
