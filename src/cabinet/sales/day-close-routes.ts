// The close of a day: shops with their closes, and the comparison of one day in three books. The logic is in the views.

import { Type } from 'typebox';
import type { Database } from '../../database/database.ts';
import { uuidField } from '../../http/schemas.ts';
import type { RouteApp } from '../../http/server.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import { isoTime } from '../../kernel/moments.ts';
import { addRoute } from '../add-route.ts';
import { csvAnswers, merchantField, scopeOfView, sendCsv } from '../list-fields.ts';
import { exampleIds, exampleTime, listOf, moment } from '../shared-schemas.ts';
import { exampleListed, listedCommand, shownCommand } from '../shown-command.ts';
import { shownRow } from '../shown-row.ts';
import { readPrinted, readShopDay, readShops } from '../views/figures/day-close.ts';
import { compareDay, groupKinds, lineNames } from '../views/figures/day-compare.ts';
import { readNote } from '../views/figures/notes.ts';
import { readListed } from '../views/lists/commands-list.ts';
import { csvLine, csvStart } from '../views/lists/csv.ts';
import type { Scope } from '../views/scope.ts';

const optional = Type.Optional;
/** Shown per group; the sum covers all. */
const maxShown = 100;

const dayQuery = Type.Object({ ...merchantField, close: uuidField('Id of a bank-day close or a Z report.') });

export function registerDayCloseRoutes(app: RouteApp, { database }: { database: Database }): void {
  async function readDay(scope: Scope, closeId: string) {
    const day = await readShopDay(database.pages, scope, closeId);
    if (!day) throw new GatewayError('Record_not_exist', 'There is no close of a bank day and no Z report by that id.');
    const printed = await readPrinted(database.pages, day);
    const { lines, groups, equation, canCompare, unexplained, operations } = compareDay(day.sources, printed);
    const own: Scope = { merchantId: day.merchantId };
    const closeIds = day.sources.map(({ commandId }) => commandId);
    const note = await readNote(database.pages, 'dayClose', closeIds);
    return {
      merchantId: day.merchantId,
      shop: day.shop ?? undefined,
      sources: day.sources.map(({ report: _report, operations: done, fromMs, toMs, ...source }) => ({
        ...source,
        from: fromMs === 0 ? undefined : isoTime(fromMs),
        to: isoTime(toMs),
        operations: done.length,
      })),
      canCompare,
      lines: lines.map(shownRow),
      groups: await Promise.all(
        groups.map(async ({ operationIds, ...group }) => ({
          ...shownRow(group),
          count: operationIds.length,
          operations: (await readListed(database.pages, own, operationIds.slice(0, maxShown))).map(shownCommand),
        })),
      ),
      equation: equation && shownRow(equation),
      unexplained: shownRow(unexplained),
      operations,
      note: note && shownRow(note),
    };
  }

  addRoute(app, 'GET /day-close/shops', 'listShops', {
    summary: 'Shops with their latest closes',
    description: 'Devices with the same point-of-sale code form a shop.',
    querystring: Type.Object(merchantField),
    answer: {
      description: 'Shops by merchant and code; closes newest first.',
      fields: {
        shops: listOf({
          merchantId: Type.String(),
          merchantName: Type.String(),
          code: Type.String(),
          devices: listOf({ id: Type.String(), name: Type.String(), kind: Type.String(), bank: optional(Type.String()) }),
          closes: listOf({
            id: Type.String(),
            kind: Type.Enum(['bank', 'z']),
            deviceId: Type.String(),
            at: moment,
            number: optional(Type.String()),
          }),
        }),
      },
      example: {
        shops: [{ merchantId: exampleIds.merchant, merchantName: 'Corner shop', code: 'CHI-01', devices: [], closes: [] }],
      },
    },
    handle: async (request) => {
      const shops = await readShops(database.pages, scopeOfView(request, request.query.merchantId));
      return {
        shops: shops.map(({ devices, closes, ...shop }) => ({
          ...shop,
          devices: devices.map(shownRow),
          closes: closes.map(shownRow),
        })),
      };
    },
  });

  addRoute(app, 'GET /day-close', 'readDayClose', {
    summary: 'One day of a shop in three books',
    description:
      'The closes of the shop that are one day with the given one (each close belongs to one day only, whichever of them is given), with the ledger over exactly their periods. A book without totals is not compared. Groups contain the operations that cause a difference.',
    querystring: dayQuery,
    answer: {
      description: 'Bank, Z and ledger by line, in lei.',
      fields: {
        merchantId: Type.String(),
        shop: optional(Type.String()),
        sources: listOf({
          commandId: Type.String(),
          kind: Type.Enum(['bank', 'z']),
          deviceId: Type.String(),
          deviceName: Type.String(),
          number: optional(Type.String()),
          from: optional(moment),
          to: moment,
          operations: Type.Integer(),
        }),
        canCompare: Type.Object({ bank: Type.Boolean(), z: Type.Boolean() }),
        lines: listOf({
          line: Type.Enum([...lineNames]),
          bank: optional(Type.Number()),
          z: optional(Type.Number()),
          ledger: Type.Number(),
          difference: optional(Type.Number()),
        }),
        groups: listOf({
          kind: Type.Enum([...groupKinds]),
          sum: Type.Number(),
          effect: Type.Number({
            description: 'Contribution of the group to bank minus Z; the rest of the equation is not explained by any group.',
          }),
          count: Type.Integer(),
          operations: Type.Array(listedCommand),
        }),
        equation: optional(
          Type.Object(
            { bank: Type.Number(), z: Type.Number(), rest: Type.Number() },
            { description: 'Card sales: bank minus Z equals the sum of the groups’ effects and the rest.' },
          ),
        ),
        unexplained: Type.Object({ bank: optional(Type.Number()), z: optional(Type.Number()) }),
        operations: Type.Integer(),
        note: optional(Type.Object({ at: moment, actor: Type.String(), reason: Type.String() })),
      },
      example: {
        merchantId: exampleIds.merchant,
        shop: 'CHI-01',
        sources: [],
        canCompare: { bank: true, z: true },
        lines: [{ line: 'cardSales', bank: 24_918.4, z: 24_829.4, ledger: 24_918.4, difference: 89 }],
        equation: { bank: 24_918.4, z: 24_829.4, rest: 0 },
        groups: [{ kind: 'noReceipt', sum: 89, effect: 89, count: 1, operations: [exampleListed] }],
        unexplained: { bank: 0, z: 0 },
        operations: 184,
        note: { at: exampleTime, actor: 'Ana', reason: 'Printed the next day.' },
      },
    },
    errors: ['Record_not_exist'],
    handle: async (request) => readDay(scopeOfView(request, request.query.merchantId), request.query.close.toLowerCase()),
  });

  addRoute(app, 'GET /day-close.csv', 'exportDayClose', {
    summary: 'One day of a shop in three books, as CSV',
    querystring: dayQuery,
    response: csvAnswers('The table.', 'Record_not_exist'),
    handle: async (request, reply) => {
      const day = await readDay(scopeOfView(request, request.query.merchantId), request.query.close.toLowerCase());
      const rows = [
        ['line', 'bank', 'z', 'ledger', 'difference'],
        ...day.lines.map(({ line, bank, z, ledger, difference }) => [line, bank, z, ledger, difference]),
        [],
        ['why', 'time', 'id', 'operation', 'amount', 'document', 'rrn', 'device'],
        ...day.groups.flatMap(({ kind, operations }) =>
          operations.map((each) => [kind, each.at, each.id, each.name, each.amount, each.documentNr, each.rrn, each.deviceName]),
        ),
      ];
      return sendCsv(reply, 'day-close.csv', csvStart + rows.map(csvLine).join(''));
    },
  });
}
