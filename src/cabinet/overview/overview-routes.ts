// The figures of the first page. The logic is in the views.

import { Type } from 'typebox';
import { textField } from '../../http/schemas.ts';
import type { RouteApp } from '../../http/server.ts';
import { invalidRequest } from '../../kernel/error-codes.ts';
import { isoTime } from '../../kernel/moments.ts';
import { addRoute } from '../add-route.ts';
import type { CabinetDeps } from '../deps.ts';
import { merchantField, scopeOfView } from '../list-fields.ts';
import { exampleTime, listOf, mapOf, moment } from '../shared-schemas.ts';
import { shownRow } from '../shown-row.ts';
import type { Mismatches } from '../views/figures/mismatches.ts';
import { createOverviewBook, type Overview } from '../views/figures/overview.ts';
import { isZone } from '../views/figures/period.ts';
import { inLei, salesInLei } from './attention-routes.ts';

const count = Type.Integer();
const lei = Type.Number();
const optional = Type.Optional;
const sums = Type.Object({ amount: lei, count });
const total = Type.Object({ amount: lei, count, refunded: lei });
const tries = Type.Object({ paid: count, declined: count });
const milliseconds = Type.Object({ p50Ms: optional(Type.Number()), p95Ms: optional(Type.Number()) });
const figures = {
  isNew: Type.Boolean({ description: 'There is no operation and no invoice yet.' }),
  from: moment,
  to: moment,
  total,
  before: total,
  earlier: Type.Object({ amount: lei, count }, { description: 'Refunds and voids of the period whose payments were counted before it.' }),
  modes: Type.Object({ card: sums, qr: sums, cash: sums }),
  hours: listOf({ at: moment, card: lei, qr: lei, cash: lei, before: lei, tries, triesBefore: tries }),
  banks: listOf({
    bank: optional(Type.String()),
    paid: count,
    amount: lei,
    success: optional(Type.Number()),
    p95Ms: optional(Type.Number()),
  }),
  success: Type.Object({ tries: count, paid: count, declined: count, unknown: count, rate: optional(Type.Number()) }),
  answers: milliseconds,
  ownShare: milliseconds,
  histogram: listOf({ fromMs: Type.Number(), count }),
  devices: listOf({
    id: Type.String(),
    name: Type.String(),
    kind: Type.Enum(['terminal', 'register']),
    bank: optional(Type.String()),
    shop: optional(Type.String()),
    liveOn: Type.Array(Type.Enum(['mqtt', 'queue'])),
    lastSeenAt: optional(moment),
  }),
  callbacks: Type.Object({
    delivered: count,
    waiting: count,
    dead: count,
    steps: listOf({ attempts: count, count }),
    nextAttemptAt: optional(moment),
  }),
  attention: Type.Object({
    counts: mapOf<number>('integer'),
    sums: mapOf<number>('number'),
    sales: Type.Object({ count, amount: lei }, { description: 'Each sale once, however many kinds list it.' }),
    isCut: Type.Boolean(),
    oldestSince: optional(moment),
  }),
  settledAlone: Type.Object({ recall: count, lateAnswer: count, lastTransaction: count, person: count, longestMs: Type.Number() }),
};

export function registerOverviewRoutes(
  app: RouteApp,
  { database, clock, link, mismatches }: CabinetDeps & { mismatches: Mismatches },
): void {
  const book = createOverviewBook(mismatches);

  function shown({ fromMs, toMs, hours, devices, callbacks, attention, ...others }: Overview) {
    const { sales, oldestSinceMs, sumsBani, ...needs } = attention;
    return {
      from: isoTime(fromMs),
      to: isoTime(toMs),
      ...others,
      hours: hours.map(shownRow),
      devices: devices.map(({ lastSeenAtMs, ...device }) => {
        const seen = link.presence.of(device.id);
        return { ...shownRow(device), liveOn: seen?.liveOn ?? [], lastSeenAt: isoTime(seen?.lastSeenAtMs || lastSeenAtMs) };
      }),
      callbacks: shownRow(callbacks),
      attention: { ...needs, sums: inLei(sumsBani), sales: salesInLei(sales), oldestSince: isoTime(oldestSinceMs) },
    };
  }

  addRoute(app, 'GET /overview', 'readOverview', {
    summary: 'Figures of the first page, and open tasks',
    querystring: Type.Object({
      ...merchantField,
      period: Type.Optional(Type.Enum(['today', 'yesterday', '7d'])),
      timeZone: Type.Optional(textField('Time zone in which a day begins, such as Europe/Chisinau (UTC).', 64)),
    }),
    answer: {
      description:
        'Money in lei by mode, hour and bank, the same period a week before, success rate and duration of payments, devices, callbacks, and Attention.',
      fields: figures,
      example: {
        isNew: false,
        from: exampleTime,
        to: exampleTime,
        total: { amount: 48_214.3, count: 612, refunded: 64.5 },
        modes: { card: { count: 398, amount: 31_876.4 }, qr: { count: 96, amount: 9_412.9 }, cash: { count: 118, amount: 6_925 } },
      },
    },
    handle: async (request) => {
      const { merchantId, period = 'today', timeZone = 'UTC' } = request.query;
      if (!isZone(timeZone))
        throw invalidRequest(
          'timeZone must be the name of a time zone such as Europe/Chisinau, or an offset of whole quarters of an hour.',
        );
      return shown(await book.read(database, scopeOfView(request, merchantId), period, timeZone, clock.now()));
    },
  });
}
