// The common part of every call to a device, read from its request: merchant, device, what identifies a repeat, and the waiting connection.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerOf } from '../../http/authentication.ts';
import { recognitionOf } from '../../http/idempotency-key.ts';
import { originOf } from '../../http/origin.ts';
import { readUuid } from '../../http/schemas.ts';
import type { CommandCall } from './call.ts';

/** A call as read from HTTP. */
export interface DeviceCall extends Omit<CommandCall, 'findEarlier' | 'requestHash'> {
  /** Computes requestHash, for calls recognised by content only: it costs more than reading the rest of the call. */
  hashRequest?: (() => string) | undefined;
}

/** `leaveOut`: fields of the body that the command stores anyway. */
export function deviceCallOf(request: FastifyRequest, reply: FastifyReply, deviceId: string, ...leaveOut: string[]): DeviceCall {
  return {
    merchantId: callerOf(request).merchantId,
    deviceId: readUuid('DeviceID', deviceId),
    ...recognitionOf(request, reply),
    origin: originOf(request, ...leaveOut),
  };
}
