// Requests to a device from the cabinet: its state, its last transaction, and the closes and reports of a day. No logic.
import { writeAudit } from '../../access/audit.ts';
import { askStatus } from '../../devices/status.ts';
import { idempotencyHeaders } from '../../http/schemas.ts';
import type { RouteApp } from '../../http/server.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import type { DeviceAnswer } from '../../ledger/answers.ts';
import { findHolder } from '../../ledger/device-lock.ts';
import { addRoute } from '../add-route.ts';
import type { CabinetDeps } from '../deps.ts';
import { answerOfDevice, personalCallOf } from './money-step-routes.ts';
import { keyOf, type PersonalCall } from './money-steps.ts';
import type { StepBound } from './step-refusals.ts';

const deviceErrors = ['Record_not_exist', 'Timeout_or_no_response', 'Device_Offline', 'Device_Busy', 'Refused_By_Device'] as const;

export function registerDeviceStepRoutes(app: RouteApp, deps: CabinetDeps & { bounded: StepBound }): void {
  const { database, cards, fiscal, bounded } = deps;

  async function ownerOf(deviceId: string): Promise<string> {
    const row = await database.queries.selectFrom('devices').select('merchant_id').where('id', '=', deviceId).executeTakeFirst();
    if (!row) throw new GatewayError('Record_not_exist', 'There is no device by that id.');
    return row.merchant_id;
  }

  /** Writes the audit entry first: an entry without an effect is harmless. */
  async function order(
    call: PersonalCall,
    action: string,
    run: (who: ReturnType<typeof whoOf>) => Promise<DeviceAnswer>,
  ): Promise<DeviceAnswer> {
    const merchantId = await ownerOf(call.commandId);
    await writeAudit(database.queries, { actor: call.actor, action, subject: call.commandId, merchantId });
    try {
      return await run(whoOf(merchantId, call));
    } catch (error) {
      throw error instanceof GatewayError && error.errorName === 'Device_Busy' ? await withHolder(error, call.commandId) : error;
    }
  }

  /** The refusal names the operation that holds the device, so that the page can link to it. */
  async function withHolder(refusal: GatewayError, deviceId: string): Promise<GatewayError> {
    const holder = await findHolder(database.queries, deviceId);
    return holder
      ? new GatewayError(refusal.errorName, refusal.message, {
          fields: { ...refusal.fields, holder: { id: holder.id, name: holder.name } },
        })
      : refusal;
  }
  const whoOf = (merchantId: string, call: PersonalCall) => ({
    merchantId,
    deviceId: call.commandId,
    idempotency: keyOf(call),
    origin: call.origin,
  });

  addRoute(app, 'POST /devices/:id/status', 'askDeviceStatus', {
    summary: 'Ask a device for its state',
    answer: answerOfDevice('Its report.'),
    errors: deviceErrors,
    handle: async (request) => {
      const { id } = request.params;
      return { report: await askStatus(deps, await ownerOf(id), id) };
    },
  });

  addRoute(app, 'POST /devices/:id/lastTransaction', 'askLastTransaction', {
    summary: 'Ask a terminal for its last transaction',
    answer: answerOfDevice('Its report.'),
    errors: deviceErrors,
    handle: async (request) => {
      const { id: deviceId } = request.params;
      return cards.lastTransaction({ merchantId: await ownerOf(deviceId), deviceId });
    },
  });

  addRoute(app, 'POST /devices/:id/closeDay', 'orderCloseDay', {
    summary: 'Close the bank day of a terminal',
    description: 'Payments of a closed day can no longer be refunded.',
    headers: idempotencyHeaders,
    answer: answerOfDevice('Count and amount are in `report`.'),
    errors: deviceErrors,
    handle: (request) =>
      bounded(request, () => order(personalCallOf(request, request.params.id), 'device.close-day', (who) => cards.closeDay(who))),
  });

  for (const [place, operationId, isFiscal] of [
    ['POST /devices/:id/xReport', 'orderXReport', false],
    ['POST /devices/:id/zReport', 'orderZReport', true],
  ] as const) {
    addRoute(app, place, operationId, {
      summary: isFiscal ? 'Print a Z report' : 'Print an X report',
      description: isFiscal ? 'Closes the fiscal day; this cannot be undone.' : 'Prints the totals and changes nothing.',
      headers: idempotencyHeaders,
      answer: answerOfDevice('The totals are in `report`.'),
      errors: deviceErrors,
      handle: (request) =>
        bounded(request, () =>
          order(personalCallOf(request, request.params.id), `device.${isFiscal ? 'z' : 'x'}-report`, (who) =>
            fiscal.createReport({ ...who, isFiscal }),
          ),
        ),
    });
  }
}
