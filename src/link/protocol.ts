// Names and addresses of the device protocol, version 1; wire-schemas.ts has its messages.
// Shared by the gateway (this room) and the virtual devices (virtual/). Documentation: docs/device-protocol.md.
import { type OperationName, operationNames } from '../kernel/operations.ts';

export const protocolVersion = 1;
export const maxMessageBytes = 1024 * 1024;
/** Most devices send a message in one frame of the built-in queue, some libraries in a few. */
export const maxMessageFragments = 16;
/** Values in a message of a device, including objects and lists: parsing a value costs far more than its bytes. */
export const maxMessageValues = 20_000;

/** Commands that move money or write fiscal memory: journaled by the device, `accepted` first, one ending answer. */
export const ledgerCommandNames = operationNames;
export type LedgerCommandName = OperationName;

/** Commands that change nothing themselves; answered once, without `accepted`. */
export const plainCommandNames = ['Status', 'LastTransaction', 'Abort', 'Recall'] as const;
export type PlainCommandName = (typeof plainCommandNames)[number];

export const commandNames = [...ledgerCommandNames, ...plainCommandNames] as const;
export type CommandName = (typeof commandNames)[number];

export const deviceKinds = ['terminal', 'register'] as const;
export type DeviceKind = (typeof deviceKinds)[number];

/** Every outcome but `accepted` ends its command. */
export const endingOutcomes = ['done', 'refused', 'busy', 'expired', 'never', 'unknown', 'unsupported'] as const;
export type EndingOutcome = (typeof endingOutcomes)[number];
export const outcomes = ['accepted', ...endingOutcomes] as const;
export type Outcome = (typeof outcomes)[number];

/** States of the target in the `done` of a Recall. */
export const recallStates = ['final', 'running', 'never', 'unknown'] as const;

export type JsonObject = { [key: string]: unknown };

export const mqttTopics = {
  commands: (deviceId: string) => `tillgate/devices/${deviceId}/commands`,
  answers: (deviceId: string, replyTo: string) => `tillgate/devices/${deviceId}/answers/${replyTo}`,
  presence: (deviceId: string) => `tillgate/devices/${deviceId}/presence`,
};

export const queueNames = {
  commands: (deviceId: string) => `tillgate.device.${deviceId}`,
  answersExchange: 'tillgate.answers',
  answerKey: (deviceId: string, replyTo: string) => `${deviceId}.${replyTo}`,
  presenceKey: (deviceId: string) => `${deviceId}.presence`,
};
