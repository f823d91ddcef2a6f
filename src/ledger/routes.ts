// The route of the ledger itself: the status of an operation, without starting anything [D64]. No logic.

import { Type } from 'typebox';
import type { Database } from '../database/database.ts';
import { callerOf, keyFor } from '../http/authentication.ts';
import { recipientOf } from '../http/recipient.ts';
import { answers, keyField, operationFields, readUuid, textField, uuidField } from '../http/schemas.ts';
import type { RouteApp } from '../http/server.ts';
import { sameNumber } from '../kernel/ids.ts';
import type { Ledger } from './ledger.ts';
import { operationStatus } from './operation-status.ts';
import { stateNames } from './standing.ts';

const example = {
  OID: 'c1b2a3d4-5e6f-4a7b-8c9d-0e1f2a3b4c55',
  State: stateNames.done,
  Operation: 'Refund',
  report: '{"rrn":"012345678902","operationId":"OP000124","amount":50}',
};

export function registerLedgerRoutes(app: RouteApp, deps: { database: Database; ledger: Ledger }): void {
  app.get(
    '/Device/Operation/Status',
    {
      config: { access: keyFor('POS', 'Fiscal') },
      schema: {
        tags: ['Operations'],
        summary: 'Status of an operation; starts nothing',
        operationId: 'operationStatus',
        description: [
          'Returns the answer that the call itself would get: 0 with its `report`, 50 if the device refused, 30 or 31 if the operation never began, 3 while the outcome is open or disputed, 22 for a payment that was voided since. `State` distinguishes these cases. The call starts nothing, however often it is made. 20 means that no operation was begun under that name. An IdempotencyKey is kept until 24 hours after its operation has ended; after that, 20 proves nothing; nor does it, for any name, about calls since the backup from which the gateway was restored.',
          'Give exactly one of OID, documentNr (of a Pay), ReceiptUid and IdempotencyKey. If there were several attempts under one documentNr or ReceiptUid, the answer is about the one that was done or is open, otherwise about the newest. The Idempotency-Key of a CancelTransaction that stopped a payment leads to that payment.',
          'The key must open the module of the operation.',
        ].join('\n\n'),
        querystring: Type.Object({
          APIKey: keyField,
          OID: Type.Optional(uuidField('Id of the operation, from the answer of its call.')),
          documentNr: Type.Optional(textField('documentNr of the Pay.', 128)),
          ReceiptUid: Type.Optional(textField('Receipt.Uid of the Device/Invoice/Pay.')),
          IdempotencyKey: Type.Optional(textField('Idempotency-Key of the call.')),
        }),
        response: answers(
          {
            name: 'OperationAnswer',
            description: 'The operation was done; the device’s answer is in `report`.',
            fields: {
              ...operationFields,
              Operation: Type.String({ description: 'The command that was sent to the device.' }),
              report: Type.Optional(Type.String({ description: 'The same as in the answer of the call itself.' })),
            },
            example,
          },
          'Timeout_or_no_response',
          'Record_not_exist',
          'Device_Offline',
          'Device_Busy',
          'Refused_By_Device',
          'The_status_cannot_be_applied',
        ),
      },
    },
    (request, reply) => {
      const { OID, documentNr, ReceiptUid, IdempotencyKey } = request.query;
      const { merchantId, modules } = callerOf(request);
      return operationStatus(deps, {
        merchantId,
        modules,
        oid: OID === undefined ? undefined : readUuid('OID', OID),
        documentNr: documentNr === undefined ? undefined : sameNumber(documentNr),
        receiptUid: ReceiptUid === undefined ? undefined : sameNumber(ReceiptUid),
        idempotencyKey: IdempotencyKey,
        recipient: recipientOf(reply),
      });
    },
  );
}
