// The page of one sale. The views build it; this file converts it to JSON.

import { Type } from 'typebox';
import type { Queries } from '../../database/database.ts';
import { named } from '../../http/schemas.ts';
import type { RouteApp } from '../../http/server.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import { isoTime } from '../../kernel/moments.ts';
import { baniToLei } from '../../kernel/money.ts';
import { type EffectOnPayment, operationOf } from '../../kernel/operations.ts';
import { findHolder } from '../../ledger/device-lock.ts';
import { addRoute } from '../add-route.ts';
import type { CabinetDeps } from '../deps.ts';
import { scopeOfView, textShown } from '../list-fields.ts';
import { exampleTime, listOf, mapOf, moment } from '../shared-schemas.ts';
import { exampleListed, listedCommand, shownCommand } from '../shown-command.ts';
import { shownRow } from '../shown-row.ts';
import type { Mismatches, MismatchKind } from '../views/figures/mismatches.ts';
import type { CoreView } from '../views/sale/core-view.ts';
import { hideLogin } from '../views/sale/hidden-login.ts';
import type { Step, StoryCallback, StoryInvoice, Unclear } from '../views/sale/sale-model.ts';
import type { SalePage } from '../views/sale/sale-page.ts';
import { readSalePage } from '../views/sale/sale-page.ts';
import { text } from '../views/texts.ts';

const optional = Type.Optional;
const lane = Type.Enum(['erp', 'gateway', 'mqtt', 'queue', 'device', 'bank', 'person']);
const unknownValue = Type.Unsafe<unknown>({});

export const stepFields = {
  at: moment,
  sinceStartMs: Type.Integer(),
  actor: Type.Enum(['erp', 'gateway', 'device', 'bank', 'person', 'callback']),
  from: optional(lane),
  to: optional(lane),
  via: optional(Type.Enum(['mqtt', 'queue'])),
  kind: Type.String(),
  isMoney: Type.Boolean({ description: 'Money moved, or a receipt was printed.' }),
  isLost: optional(Type.Boolean({ description: 'It did not arrive.' })),
  learnedAt: optional(moment),
  repeats: optional(Type.Integer()),
  text: textShown,
  detail: optional(Type.String()),
};

export const unclearFields = { fromMs: Type.Integer({ description: 'Since the start.' }), toMs: optional(Type.Integer()) };

export const callbackFields = {
  id: Type.String(),
  sequence: Type.Integer(),
  url: Type.String(),
  state: Type.Enum(['pending', 'delivered', 'dead']),
  attempts: Type.Integer(),
  createdAt: moment,
  nextAttemptAt: optional(moment),
};

const receiptFields = {
  number: optional(Type.String()),
  fiscalNumber: optional(Type.String()),
  commandId: optional(Type.String()),
  deviceName: optional(Type.String()),
  items: listOf({ name: Type.String(), quantity: Type.Number(), price: Type.Number() }),
  total: optional(Type.Number()),
};

export const pageParts = {
  outcome: textShown,
  advice: textShown,
  hints: optional(
    Type.Array(textShown, {
      description: 'While the outcome is not known: whether the device is connected, and from when a person may decide.',
    }),
  ),
  marks: listOf({ key: Type.String(), state: Type.Enum(['good', 'waiting', 'bad', 'neutral']) }),
  facts: mapOf<string | number>('string', 'number'),
  receipt: optional(Type.Object(receiptFields)),
  timeline: Type.Array(named('Step', Type.Object(stepFields))),
  unclear: listOf(unclearFields),
  raw: Type.Object({
    request: optional(unknownValue),
    report: optional(unknownValue),
    decision: optional(unknownValue),
    answer: optional(unknownValue),
  }),
  steps: Type.Array(
    named(
      'NextStep',
      Type.Object({
        action: Type.Enum(['refund', 'void', 'close', 'closeByHand', 'ask', 'decide', 'cancel', 'resend']),
        isAllowed: Type.Boolean(),
        whyNot: optional(textShown),
        maxAmount: optional(Type.Number()),
        closesReview: optional(
          Type.Boolean({
            description: 'The device contradicts the settlement: the decision is only whether the operation may be tried again.',
          }),
        ),
        keepsSettlement: optional(
          Type.Boolean({ description: 'With `closesReview`: the settlement stays, whichever `state` the decision has.' }),
        ),
        contradiction: optional(Type.String({ description: 'With `closesReview`: send it with the decision.' })),
        asksNumbers: optional(
          Type.Boolean({ description: 'Of `decide`: a payment; `done` without its operationId also ends its document.' }),
        ),
        callbackId: optional(Type.String({ description: 'Of `resend`: which callback.' })),
        notice: optional(Type.String({ description: 'Of `resend`: the state in the callback.' })),
        consequence: textShown,
      }),
    ),
  ),
};

const exampleStep = {
  at: exampleTime,
  sinceStartMs: 6,
  actor: 'gateway',
  from: 'gateway',
  to: 'device',
  via: 'mqtt',
  kind: 'sent',
  isMoney: false,
  text: { key: 'step.sent', params: { device: 'Till 1', channel: 'mqtt' } },
};

export function shownSteps(steps: readonly Step[], startMs: number) {
  return steps.map(({ atMs, learnedAtMs, ...step }) => ({
    at: isoTime(atMs),
    sinceStartMs: Math.max(0, atMs - startMs),
    ...step,
    learnedAt: isoTime(learnedAtMs),
  }));
}

export function shownUnclear(spans: readonly Unclear[], startMs: number) {
  return spans.map(({ fromMs, toMs }) => ({
    fromMs: Math.max(0, fromMs - startMs),
    toMs: toMs === undefined ? undefined : toMs - startMs,
  }));
}

export function shownCallback({ id, sequence, url, state, attempts, createdAtMs, nextAttemptAtMs }: StoryCallback) {
  return shownRow({ id, sequence, url: hideLogin(url), state, attempts, createdAtMs, nextAttemptAtMs });
}

export function shownInvoice({ oid, state, amountBani, createdAtMs }: StoryInvoice) {
  return shownRow({ oid, state, amountBani, atMs: createdAtMs });
}

function shownPage({ sale, rows, outcome, advice, hints, marks, facts, receipt, timeline, unclear, raw, steps }: SalePage) {
  const startMs = sale.command.issuedAtMs;
  const listed = (ids: readonly { id: string }[]) => ids.flatMap(({ id }) => rows.get(id) ?? []).map(shownCommand);
  const taking = (effect: EffectOnPayment) => listed(sale.followers.filter(({ name }) => operationOf(name).effect === effect));
  const row = rows.get(sale.command.id);
  return {
    command: row && shownCommand(row),
    outcome,
    advice,
    hints,
    marks,
    facts,
    receipt: receipt && shownRow(receipt),
    related: {
      payment: sale.payment && listed([sale.payment])[0],
      refunds: taking('refund'),
      closes: taking('close'),
      voids: taking('void'),
      linked: listed(sale.linked),
      others: listed(sale.said.others),
      invoice: sale.invoice && shownInvoice(sale.invoice),
      callbacks: sale.callbacks.map(shownCallback),
    },
    timeline: shownSteps(timeline, startMs),
    unclear: shownUnclear(unclear, startMs),
    raw,
    steps: steps.map(({ maxBani, ...step }) => ({ ...step, maxAmount: maxBani === undefined ? undefined : baniToLei(maxBani) })),
  };
}

/** The kind of mismatch under which Attention lists the sale, if it does. */
async function mismatchOf(queries: Queries, { sale }: SalePage, nowMs: number, mismatches: Mismatches): Promise<MismatchKind | undefined> {
  const { id, name, merchantId } = sale.command;
  const { isPayment, prints } = operationOf(name);
  if (!isPayment && !prints) return undefined;
  const found = await mismatches.read(queries, { merchantId }, nowMs);
  return (['paymentWithoutReceipt', 'receiptWithoutPayment'] as const).find((kind) => found[kind].includes(id));
}

export function registerSalePageRoutes(
  app: RouteApp,
  { database, clock, ledger, link, mismatches, core }: CabinetDeps & { mismatches: Mismatches; core: CoreView },
): void {
  const commands = Type.Array(listedCommand);
  addRoute(app, 'GET /commands/:id', 'readCommand', {
    summary: 'One sale with its timeline',
    description:
      'The outcome in plain words, every step in order with its actor and channel, the period in which the outcome was unknown, and the possible next steps with their consequences.',
    answer: {
      description: 'The page.',
      fields: {
        command: listedCommand,
        holder: optional(
          Type.Object({ id: Type.String(), name: Type.String() }, { description: 'Another operation that blocks the device.' }),
        ),
        ...pageParts,
        related: Type.Object({
          payment: optional(listedCommand),
          refunds: commands,
          closes: commands,
          voids: commands,
          linked: commands,
          others: Type.Array(listedCommand, { description: 'Other operations under the same number whose money the shop may have.' }),
          invoice: optional(Type.Object({ oid: Type.String(), state: Type.Integer(), amount: optional(Type.Number()), at: moment })),
          callbacks: listOf(callbackFields),
        }),
      },
      example: {
        command: exampleListed,
        outcome: { key: 'outcome.charged', params: { amount: 150.5, device: 'Till 1' } },
        advice: { key: 'advice.nothing', params: {} },
        marks: [{ key: 'state.paid', state: 'good' }],
        facts: { left: 150.5 },
        related: { refunds: [], closes: [], voids: [], linked: [], others: [], callbacks: [] },
        timeline: [exampleStep],
        unclear: [],
        raw: {},
        steps: [],
      },
    },
    errors: ['Record_not_exist'],
    handle: async (request) => {
      const { id } = request.params;
      const events = await ledger.timelineOf(id);
      const sources = { isConnected: link.presence.isLiveAnywhere, core };
      const page = await readSalePage(database.pages, scopeOfView(request), id, events, clock.now(), sources);
      if (!page) throw new GatewayError('Record_not_exist', 'There is no such command.');
      const { command } = page.sale;
      const holder = await findHolder(database.pages, command.deviceId);
      const listedAs = await mismatchOf(database.pages, page, clock.now(), mismatches);
      return {
        ...shownPage(page),
        // A sale that Attention lists never has the advice "nothing to do".
        ...(listedAs !== undefined && page.advice.key === 'advice.nothing' ? { advice: text(`advice.${listedAs}`) } : {}),
        ...(holder && holder.id !== command.id ? { holder: { id: holder.id, name: holder.name } } : {}),
      };
    },
  });
}
