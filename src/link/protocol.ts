// The wire to the devices, version 1: message shapes, names and addresses, and reading them safely.
// Shared by the gateway's side (this room) and the device's side (virtual/); docs/device-protocol.md is its prose.

export const protocolVersion = 1;
export const messageLimitBytes = 1024 * 1024;

/** Commands that move money or write fiscal memory: journaled by the device, `accepted` first, one ending answer. */
export const ledgerCommandNames = [
  'Pay',
  'CloseDoc',
  'CloseDay',
  'Refund',
  'CancelTransaction',
  'MoneyIn',
  'MoneyOut',
  'Report',
  'PrintReceipt',
] as const;
export type LedgerCommandName = (typeof ledgerCommandNames)[number];

/** Commands that change nothing by themselves; answered once, without `accepted`. */
export const plainCommandNames = ['Status', 'LastTransaction', 'Abort', 'Recall'] as const;
export type PlainCommandName = (typeof plainCommandNames)[number];

export type CommandName = LedgerCommandName | PlainCommandName;

export const outcomes = ['accepted', 'done', 'refused', 'busy', 'expired', 'never', 'unknown', 'unsupported'] as const;
export type Outcome = (typeof outcomes)[number];
/** Every outcome but `accepted` ends its command. */
export type EndingOutcome = Exclude<Outcome, 'accepted'>;

export type JsonObject = { [key: string]: unknown };

export interface CommandMessage {
  v: 1;
  id: string;
  name: CommandName;
  replyTo: string;
  issuedAt: string;
  /** In the device's own clock; absent for Recall, Abort and Status. */
  startBy?: string;
  answerBy?: string;
  args: JsonObject;
}

export interface AnswerMessage {
  v: 1;
  id: string;
  device: string;
  clock: string;
  /** Absent: the device keeps no journal. */
  journalId?: string;
  outcome: Outcome;
  report?: JsonObject;
  reason?: string;
}

export interface PresenceMessage {
  v: 1;
  device: string;
  online: boolean;
  clock?: string;
  bootId?: string;
  journalId?: string;
  kind?: string;
  battery?: number;
  paper?: string;
  signal?: number;
  bank?: string;
  firmware?: string;
}

/** What `done` of a Recall reports about its target. */
export interface RecallReport {
  state: 'final' | 'running' | 'never' | 'unknown';
  outcome?: EndingOutcome;
  report?: JsonObject;
  reason?: string;
}

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

/** One frame of the built-in queue: exactly one of the three. */
export interface QueueFrame {
  command?: CommandMessage;
  answer?: AnswerMessage;
  presence?: PresenceMessage;
}
