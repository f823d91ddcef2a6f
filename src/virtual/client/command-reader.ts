// Parses and validates an untrusted command: size, JSON, version, ids, times. A message that breaks a rule is dropped and counted, never
// answered: an answer needs a valid id and address.
import { clockReadingMs } from '../../kernel/clock-reading.ts';
import { parseUuid } from '../../kernel/ids.ts';
import { type JsonObject, type LedgerCommandName, ledgerCommandNames, maxMessageBytes, protocolVersion } from '../../link/protocol.ts';
import type { CommandMessage } from '../../link/wire-schemas.ts';

export type DropReason = 'too-large' | 'not-json' | 'version' | 'field';

/** A valid command; its name may be unknown to this version. */
export interface ReceivedCommand {
  id: string;
  name: string;
  replyTo: string;
  startByMs: number | undefined;
  answerByMs: number | undefined;
  args: JsonObject;
}

export type ReadCommand = { command: ReceivedCommand; dropped?: undefined } | { command?: undefined; dropped: DropReason };

// It becomes part of a topic and a routing key.
const replyToPattern = /^[A-Za-z0-9_-]{1,64}$/;

const ledgerNames: ReadonlySet<string> = new Set(ledgerCommandNames);

export function isLedgerCommand(name: string): name is LedgerCommandName {
  return ledgerNames.has(name);
}

export function isJsonObject(value: unknown): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

export function readCommand(bytes: Uint8Array): ReadCommand {
  if (bytes.byteLength > maxMessageBytes) return { dropped: 'too-large' };
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return { dropped: 'not-json' };
  }
  return readCommandValue(value);
}

export function readCommandValue(value: unknown): ReadCommand {
  if (!isJsonObject(value)) return { dropped: 'not-json' };
  const message = value as Partial<Record<keyof CommandMessage, unknown>>;
  if (message.v !== protocolVersion) return { dropped: 'version' };
  const id = parseUuid(message.id);
  const { name, replyTo } = message;
  if (id === undefined || typeof name !== 'string' || typeof replyTo !== 'string' || !replyToPattern.test(replyTo))
    return { dropped: 'field' };
  const args = message.args ?? {};
  if (!isJsonObject(args)) return { dropped: 'field' };
  const startByMs = clockReadingMs(message.startBy);
  const answerByMs = clockReadingMs(message.answerBy);
  // Without its two deadlines a ledger command could begin hours late, so it is dropped.
  if (isLedgerCommand(name) && (startByMs === undefined || answerByMs === undefined)) return { dropped: 'field' };
  return { command: { id, name, replyTo, startByMs, answerByMs, args } };
}
