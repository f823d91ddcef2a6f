// The header Tillgate-Fault, in the sandbox only: the virtual device of the request simulates the named fault, whatever the amount [D152].
// `serve` has no virtual devices and ignores it.
import type { FastifyInstance } from 'fastify';
import { optionalCallerOf } from '../http/authentication.ts';
import { invalidRequest } from '../kernel/error-codes.ts';

export interface FaultRequest {
  merchantId: string;
  deviceId: string;
  /** documentNr or Receipt.Uid. */
  document: string | undefined;
  fault: string;
}

export interface FaultPort {
  /** Selects the fault until the returned function is called. A list of names: the device has no such fault. Undefined: not for a virtual device. */
  select(request: FaultRequest): (() => void) | readonly string[] | undefined;
}

interface DeviceBody {
  DeviceID?: unknown;
  documentNr?: unknown;
  Receipt?: { Uid?: unknown } | null;
}

export function watchFaultHeader(app: FastifyInstance, port: () => FaultPort | undefined): void {
  app.addHook('preHandler', async (request, reply) => {
    const fault = request.headers['tillgate-fault'];
    const merchantId = optionalCallerOf(request)?.merchantId;
    if (typeof fault !== 'string' || fault === '' || merchantId === undefined) return;
    const { DeviceID, documentNr, Receipt } = (request.body ?? {}) as DeviceBody;
    if (typeof DeviceID !== 'string') return;
    const named = documentNr ?? Receipt?.Uid;
    const document = typeof named === 'string' ? named : undefined;
    const selected = port()?.select({ merchantId, deviceId: DeviceID.toLowerCase(), document, fault });
    if (typeof selected === 'function') {
      reply.raw.once('close', selected);
      // The caller has already disconnected: there will be no close event.
      if (reply.raw.destroyed) selected();
    } else if (selected) throw invalidRequest(`Tillgate-Fault must be one of ${selected.join(', ')} for this device.`);
  });
}
