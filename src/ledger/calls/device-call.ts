// What every call to a device has in common, read from its request: who asks, for which device, how a repeat is recognised, who waits.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerOf } from '../../http/authentication.ts';
import { recognitionOf } from '../../http/idempotency-key.ts';
import { originOf } from '../../http/origin.ts';
import { readUuid } from '../../http/schemas.ts';
import type { CommandCall } from './call.ts';

/** A call as HTTP hands it over. */
export interface DeviceCall extends Omit<CommandCall, 'findEarlier' | 'requestHash'> {
  /** The requestHash, for calls that turn out to be recognised by it: it costs more than all else that is read of a call. */
  hashRequest?: (() => string) | undefined;
}

/** `leaveOut`: fields of the body that the command keeps anyway. */
export function deviceCallOf(request: FastifyRequest, reply: FastifyReply, deviceId: string, ...leaveOut: string[]): DeviceCall {
  return {
    merchantId: callerOf(request).merchantId,
    deviceId: readUuid('DeviceID', deviceId),
    ...recognitionOf(request, reply),
    origin: originOf(request, ...leaveOut),
  };
}
