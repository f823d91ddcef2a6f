// The header Tillgate-Fault, in the sandbox only: the virtual device of the request simulates the named fault, whatever the amount [D152];
// or the gateway itself answers as if it had failed, before it has done anything [D291]. `serve` has no virtual devices and ignores it.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { optionalCallerOf } from '../http/authentication.ts';
import { BoundedMap } from '../kernel/bounded-map.ts';
import { deviceOffline, type ErrorName, errorCodes, GatewayError, invalidRequest } from '../kernel/error-codes.ts';

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

const simulated = (name: ErrorName, retryAfterS?: number) =>
  new GatewayError(name, `Simulated by Tillgate-Fault: ${errorCodes[name].meaning} Nothing was done.`, retryAfterS ? { retryAfterS } : {});

/** The faults of the gateway, by name, with the errors that an ERP cannot cause by itself. */
const gatewayFaults: Readonly<Record<string, () => GatewayError>> = {
  'internal-error': () => simulated('Internal_error'),
  'database-down': () => simulated('Error_Connection_Database'),
  offline: () => deviceOffline(),
  'too-many-requests': () => simulated('Too_Many_Requests', 1),
};

const maxUsedUp = 1_000;

export function watchFaultHeader(app: FastifyInstance, port: () => FaultPort | undefined): void {
  const usedUp = new BoundedMap<string, true>(maxUsedUp);

  /** As a fault of a device, it applies to the first attempt: a client that repeats by itself succeeds. */
  function isUsedUp(request: FastifyRequest, fault: string, document: string | undefined): boolean {
    const attempt = document?.toLowerCase() ?? request.headers['idempotency-key'];
    if (attempt === undefined) return false;
    const name = `${fault} ${request.routeOptions.url} ${String(attempt)}`;
    const isKnown = usedUp.has(name);
    usedUp.set(name, true);
    return isKnown;
  }

  app.addHook('preHandler', async (request, reply) => {
    const fault = request.headers['tillgate-fault'];
    const merchantId = optionalCallerOf(request)?.merchantId;
    if (typeof fault !== 'string' || fault === '' || merchantId === undefined) return;
    const { DeviceID, documentNr, Receipt } = (request.body ?? {}) as DeviceBody;
    const named = documentNr ?? Receipt?.Uid;
    const document = typeof named === 'string' ? named : undefined;
    const failure = Object.hasOwn(gatewayFaults, fault) ? gatewayFaults[fault] : undefined;
    if (failure) {
      if (isUsedUp(request, fault, document)) return;
      throw failure();
    }
    if (typeof DeviceID !== 'string') return;
    const selected = port()?.select({ merchantId, deviceId: DeviceID.toLowerCase(), document, fault });
    if (typeof selected === 'function') {
      reply.raw.once('close', selected);
      // The caller has already disconnected: there will be no close event.
      if (reply.raw.destroyed) selected();
    } else if (selected) {
      const names = Object.keys(gatewayFaults).join(', ');
      throw invalidRequest(`Tillgate-Fault must be one of ${selected.join(', ')} for this device, or ${names}.`);
    }
  });
}
