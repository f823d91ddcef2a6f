// Ledger commands in the cabinet's API: the review list, and the two decisions that only a person can take [D15, D16].
// A decision and its audit entry, with all fields of the request, are one transaction: a refused decision leaves no entry.

import { Type } from 'typebox';
import { textField } from '../../http/schemas.ts';
import type { RouteApp } from '../../http/server.ts';
import { actorOf } from '../../http/viewer.ts';
import { boundReport, maxListedReportLength } from '../../kernel/device-texts.ts';
import { parseExactJson } from '../../kernel/exact-json.ts';
import { isoTime } from '../../kernel/moments.ts';
import type { Command } from '../../ledger/command.ts';
import type { JsonObject } from '../../link/protocol.ts';
import { addRoute } from '../add-route.ts';
import type { CabinetDeps } from '../deps.ts';
import { scopeOf } from '../own-rows.ts';
import { defaultPage, exampleIds, exampleTime, listOf, merchantQuery, moment, pageFields } from '../shared-schemas.ts';
import { shownFields } from '../shown-row.ts';
import { starredJson } from '../views/sale/starred.ts';

const commandFields = {
  id: Type.String(),
  merchantId: Type.String(),
  deviceId: Type.String(),
  name: Type.String(),
  state: Type.Enum(['sent', 'unknown', 'done', 'refused', 'never', 'disputed']),
  amount: Type.Optional(Type.Number()),
  documentNr: Type.Optional(Type.String()),
  operationId: Type.Optional(Type.String()),
  receiptUid: Type.Optional(Type.String()),
  issuedAt: moment,
  settledAt: Type.Optional(moment),
  settledBy: Type.Optional(Type.String()),
  reason: Type.Optional(Type.String()),
  report: Type.Optional(Type.String()),
  documentState: Type.Optional(Type.Enum(['open', 'closed', 'voided'])),
  reviewSince: Type.Optional(moment),
  reviewReason: Type.Optional(Type.String()),
  contradiction: Type.Optional(Type.String()),
  removedAt: Type.Optional(moment),
};
const exampleCommand = {
  id: 'c1b2a3d4-5e6f-4a7b-8c9d-0e1f2a3b4c55',
  merchantId: exampleIds.merchant,
  deviceId: exampleIds.device,
  name: 'Pay',
  state: 'unknown',
  amount: 150.5,
  documentNr: exampleIds.invoice,
  issuedAt: exampleTime,
  reviewSince: exampleTime,
  reviewReason: 'The device has not reported the outcome since its deadline passed.',
};
const reasonField = textField('Reason; stored with the command and in the audit log.', 500);

function shown({ reviewSinceMs, reviewReason, contradiction, report, ...command }: Command) {
  const review = command.reviewedAtMs === null ? { reviewSince: isoTime(reviewSinceMs), reviewReason, contradiction } : {};
  return shownFields({ ...command, ...review, report: report === null ? null : starredJson(listedReport(report)) }, commandFields);
}

/** The sale's page has all of it that is stored. */
function listedReport(report: string): string {
  return JSON.stringify(boundReport(parseExactJson(report) as JsonObject, maxListedReportLength));
}

export function registerDecisionRoutes(app: RouteApp, { ledger, cards }: CabinetDeps): void {
  addRoute(app, 'GET /review', 'listReview', {
    summary: 'Commands that a person must decide',
    description: 'Unsettled outcomes, reports that cannot be trusted, and answers that contradict a settlement.',
    querystring: Type.Object({ ...pageFields, ...merchantQuery.properties }),
    answer: {
      description: 'Oldest first.',
      fields: { commands: listOf(commandFields) },
      example: { commands: [exampleCommand] },
    },
    handle: async (request) => {
      const { limit = defaultPage, merchantId } = request.query;
      return { commands: (await ledger.listReview(limit, scopeOf(request, merchantId))).map(shown) };
    },
  });

  addRoute(app, 'POST /commands/:id/decide', 'decideCommand', {
    summary: 'Decide an outcome by hand',
    description:
      'Settles an open command as done or refused, two minutes after its time-out or later, or at once if the device itself ended it as unknown; before that 22. With `closesReview` it resolves a dispute: `done` (executed) has all effects of done, `refused` (not executed) all effects of refused, and frees its documentNr or Receipt.Uid. A payment that is decided as `done` without its operationId is Closed at once, because no call could close it; numbers that its terminal reports later are stored. A settlement that the device reported and later contradicted stays; `closesReview` removes it from the list.',
    body: Type.Object({
      state: Type.Enum(['done', 'refused']),
      reason: reasonField,
      operationId: Type.Optional(textField("The bank's number of a payment, if it is known.", 128)),
      rrn: Type.Optional(textField('Reference Retrieval Number of a payment, if it is known.', 64)),
      closesReview: Type.Optional(
        Type.Boolean({ description: 'Confirms that the dispute or contradiction was seen. Without it such a command is answered 22.' }),
      ),
      contradiction: Type.Optional(
        Type.String({
          description: 'With `closesReview`: the `contradiction` that was seen. 22 if the device has reported something else since.',
        }),
      ),
    }),
    answer: {
      description: 'The current state of the command.',
      fields: { command: Type.Object(commandFields) },
      example: { command: { ...exampleCommand, state: 'done' } },
    },
    errors: ['Record_not_exist', 'The_status_cannot_be_applied'],
    handle: async (request) => {
      const { id } = request.params;
      const actor = actorOf(request);
      const { state, reason, operationId, rrn, closesReview, contradiction } = request.body;
      const decision = { state, reason, actor, operationId, rrn, closesReview, contradiction };
      const detail = { state, reason, operationId, rrn, closesReview };
      const command = await ledger.decide(id, decision, { actor, action: 'command.decide', subject: id, detail });
      return { command: shown(command) };
    },
  });

  addRoute(app, 'POST /commands/:id/close-document', 'closeDocumentByHand', {
    summary: 'Close the document of an approved payment by hand',
    description: 'Frees a terminal that cannot close it itself.',
    body: Type.Object({ reason: reasonField }),
    answer: 'The document is closed.',
    errors: ['Record_not_exist', 'The_status_cannot_be_applied'],
    handle: (request) => cards.closeDocumentByHand({ commandId: request.params.id, actor: actorOf(request), reason: request.body.reason }),
  });
}
