// Attention: operations that need a person, and notes that settle them. The logic is in the views.

import { Type } from 'typebox';
import { textField } from '../../http/schemas.ts';
import type { RouteApp } from '../../http/server.ts';
import { actorOf } from '../../http/viewer.ts';
import { isoTime } from '../../kernel/moments.ts';
import { baniToLei } from '../../kernel/money.ts';
import { addRoute } from '../add-route.ts';
import type { CabinetDeps } from '../deps.ts';
import { merchantField, scopeOfView, textShown } from '../list-fields.ts';
import { exampleIds, exampleTime, listOf, moment } from '../shared-schemas.ts';
import { shownRow } from '../shown-row.ts';
import { type Attention, readAttention } from '../views/figures/attention.ts';
import { attentionKinds } from '../views/figures/attention-kinds.ts';
import type { Mismatches } from '../views/figures/mismatches.ts';
import { notedKinds, writeNote } from '../views/figures/notes.ts';

const optional = Type.Optional;
const figures = Type.Object(Object.fromEntries(attentionKinds.map((kind) => [kind, Type.Number()])));

const noneOfEach = Object.fromEntries(attentionKinds.map((kind) => [kind, 0]));

export function inLei(sums: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(sums).map(([kind, bani]) => [kind, baniToLei(bani)]));
}

export const salesInLei = ({ count, bani }: Attention['sales']) => ({ count, amount: baniToLei(bani) });

export function registerAttentionRoutes(app: RouteApp, { database, clock, mismatches }: CabinetDeps & { mismatches: Mismatches }): void {
  addRoute(app, 'GET /attention', 'readAttention', {
    summary: 'Operations that need a person',
    querystring: Type.Object(merchantField),
    answer: {
      description: 'Oldest first, with the amount and the safe next step.',
      fields: {
        items: listOf({
          kind: Type.Enum([...attentionKinds]),
          subjectId: Type.String(),
          commandId: optional(Type.String()),
          oid: optional(Type.String()),
          callbackId: optional(Type.String()),
          merchantId: Type.String(),
          since: moment,
          amount: optional(Type.Number()),
          deviceId: optional(Type.String()),
          deviceName: optional(Type.String()),
          known: textShown,
          unknown: textShown,
          nextStep: Type.Object({
            action: Type.Enum(['ask', 'decide', 'close', 'note', 'resend', 'open']),
            closesReview: optional(Type.Boolean()),
            keepsSettlement: optional(Type.Boolean()),
            contradiction: optional(Type.String()),
            asksNumbers: optional(Type.Boolean()),
            consequence: textShown,
          }),
        }),
        counts: figures,
        sums: figures,
        sales: Type.Object(
          { count: Type.Integer(), amount: Type.Number() },
          { description: 'Each sale once, however many kinds list it.' },
        ),
        isCut: Type.Boolean({ description: 'Some kind has more items than the list shows.' }),
      },
      example: {
        items: [
          {
            kind: 'notClosed',
            subjectId: 'c1b2a3d4-5e6f-4a7b-8c9d-0e1f2a3b4c55',
            commandId: 'c1b2a3d4-5e6f-4a7b-8c9d-0e1f2a3b4c55',
            merchantId: exampleIds.merchant,
            since: exampleTime,
            amount: 186.2,
            deviceName: 'Till 2',
            known: { key: 'attention.notClosed.known', params: { amount: 186.2, device: 'Till 2' } },
            unknown: { key: 'attention.notClosed.unknown', params: {} },
            nextStep: { action: 'close', consequence: { key: 'consequence.close', params: { device: 'Till 2' } } },
          },
        ],
        counts: { ...noneOfEach, notClosed: 1 },
        sums: { ...noneOfEach, notClosed: 186.2 },
        sales: { count: 1, amount: 186.2 },
        isCut: false,
      },
    },
    handle: async (request) => {
      const found = await readAttention(database.pages, scopeOfView(request, request.query.merchantId), clock.now(), mismatches);
      return {
        items: found.items.map(({ sinceMs, saleKey: _saleKey, ...item }) => ({ ...shownRow(item), since: isoTime(sinceMs) })),
        counts: found.counts,
        sums: inLei(found.sumsBani),
        sales: salesInLei(found.sales),
        isCut: found.isCut,
      };
    },
  });

  addRoute(app, 'POST /attention/note', 'noteAttention', {
    summary: 'Settle an item by a note, if no other step can settle it',
    description: 'Stored with the name of its author. No money moves.',
    body: Type.Object({
      kind: Type.Enum([...notedKinds]),
      subjectId: textField('subjectId of the item.', 64),
      reason: textField('Why it is settled.', 500),
    }),
    answer: 'The note is stored.',
    errors: ['Record_not_exist', 'The_status_cannot_be_applied'],
    handle: async (request) => {
      const { kind, subjectId, reason } = request.body;
      await writeNote(database, scopeOfView(request), { kind, subjectId: subjectId.toLowerCase(), reason, actor: actorOf(request) });
    },
  });
}
