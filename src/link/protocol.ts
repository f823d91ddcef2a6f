// The wire to the devices, version 1: its names and addresses. It says nothing about messages: wire-schemas.ts does.
// Shared by the gateway's side (this room) and the device's side (virtual/); docs/device-protocol.md is its prose.
import { type OperationName, operationNames } from '../kernel/operations.ts';

export const protocolVersion = 1;
export const maxMessageBytes = 1024 * 1024;
/** Values in a message of a device, objects and lists included: a value costs far more to read than its bytes. */
export const maxMessageValues = 20_000;

/** Commands that move money or write fiscal memory: journaled by the device, `accepted` first, one ending answer. */
export const ledgerCommandNames = operationNames;
export type LedgerCommandName = OperationName;

/** Commands that change nothing by themselves; answered once, without `accepted`. */
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

/** What `done` of a Recall may say about its target. */
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
