// Parses and validates untrusted messages of devices: size, JSON, version, ids, sender.
// A message that breaks a rule becomes a DropReason to be counted. Unknown fields are ignored. Nothing here throws.
// A valid message can be serialised, masked and stored: its nesting is bounded, and both databases can store its texts.
import { clockReadingMs } from '../kernel/clock-reading.ts';
import { isExactNumber, parseExactJson } from '../kernel/exact-json.ts';
import { parseUuid } from '../kernel/ids.ts';
import { measureShape } from '../kernel/json-shape.ts';
import {
  type DeviceKind,
  deviceKinds,
  endingOutcomes,
  type JsonObject,
  maxMessageBytes,
  maxMessageValues,
  outcomes,
  protocolVersion,
  recallStates,
} from './protocol.ts';
import type { AnswerMessage, PresenceMessage, QueueFrame, RecallReport } from './wire-schemas.ts';

export const dropReasons = [
  'too-large',
  'too-deep',
  'too-many-values',
  'not-json',
  'version',
  'field',
  'foreign-device',
  'unknown-sender',
  'unknown-address',
  'retained',
  'over-budget',
] as const;
/** `field`: a required field is missing or malformed. `foreign-device`: the payload names another device than the sender. `over-budget`: more than its share. */
export type DropReason = (typeof dropReasons)[number];

/** Details for the developer of the device: the field, and a sentence that contains nothing of the message. */
export interface DropDetail {
  field?: string;
  why?: string;
}

export type Reading<Message> = { message: Message; problem?: undefined } | ({ message?: undefined; problem: DropReason } & DropDetail);

const wrongField = (field: string, why: string) => ({ problem: 'field', field, why }) as const;
const otherVersion = { problem: 'version', field: 'v', why: `must be the number ${protocolVersion}` } as const;
const otherDevice = { problem: 'foreign-device', field: 'device', why: 'must be the DeviceID of this login' } as const;
const noTime = (field: string) => wrongField(field, 'must be an ISO 8601 time with a zone');
const noUuid = (field: string) => wrongField(field, 'must be a UUID');

const outcomeNames: ReadonlySet<string> = new Set(outcomes);
const endingNames: ReadonlySet<string> = new Set(endingOutcomes);
const recallStateNames: ReadonlySet<string> = new Set(recallStates);
const kindNames: ReadonlySet<string> = new Set(deviceKinds);
const gatewayIdPattern = /^[A-Za-z0-9_-]{1,64}$/;

/** Gateway ids are part of topics and routing keys; `presence` would collide with the presence key. */
export function isGatewayId(value: unknown): value is string {
  return typeof value === 'string' && gatewayIdPattern.test(value) && value !== 'presence';
}

/** Device ids are part of topics, queue names and user names exactly as stored: a UUID in lower case. */
export function isDeviceId(value: unknown): value is string {
  return typeof value === 'string' && parseUuid(value) === value;
}

/** On the gateway: `fromDevice` is the authenticated sender. */
export function readAnswer(bytes: Uint8Array | string, fromDevice: string): Reading<AnswerMessage> {
  const parsed = readJsonObject(bytes);
  return parsed.message === undefined ? parsed : answerOf(parsed.message, fromDevice);
}

export function readPresence(bytes: Uint8Array | string, fromDevice: string): Reading<PresenceMessage> {
  const parsed = readJsonObject(bytes);
  return parsed.message === undefined ? parsed : presenceOf(parsed.message, fromDevice);
}

/** Bytes that a frame of the built-in queue adds to its message. */
const frameBytes = { answer: '{"answer":}'.length, presence: '{"presence":}'.length };
export const maxFrameBytes = maxMessageBytes + frameBytes.presence;

/** Reads a frame of a device on the built-in queue: an answer or a presence. */
export function readDeviceFrame(bytes: Uint8Array | string, fromDevice: string): Reading<QueueFrame> {
  const parsed = readJsonObject(bytes, maxFrameBytes);
  if (parsed.message === undefined) return parsed;
  const { answer, presence } = parsed.message;
  if (isJsonObject(answer)) {
    if (Buffer.byteLength(bytes) > maxMessageBytes + frameBytes.answer) return { problem: 'too-large' };
    const reading = answerOf(answer, fromDevice);
    return reading.message === undefined ? reading : { message: { answer: reading.message } };
  }
  if (isJsonObject(presence)) {
    const reading = presenceOf(presence, fromDevice);
    return reading.message === undefined ? reading : { message: { presence: reading.message } };
  }
  return wrongField('answer', 'a frame holds one object, `answer` or `presence`');
}

/** The report about the target in the `done` of a Recall; undefined if it is unusable. */
export function readRecallReport(report: unknown): RecallReport | undefined {
  if (!isJsonObject(report)) return undefined;
  const { state, outcome, report: inner, reason } = report;
  if (typeof state !== 'string' || !recallStateNames.has(state)) return undefined;
  if (state === 'final' && (typeof outcome !== 'string' || !endingNames.has(outcome))) return undefined;
  return {
    state: state as RecallReport['state'],
    ...(state === 'final' ? { outcome: outcome as NonNullable<RecallReport['outcome']> } : {}),
    ...(isJsonObject(inner) ? { report: inner } : {}),
    ...textField('reason', reason),
  };
}

function answerOf(object: JsonObject, fromDevice: string): Reading<AnswerMessage> {
  if (object['v'] !== protocolVersion) return otherVersion;
  const id = parseUuid(object['id']);
  const { clock, outcome, report } = object;
  if (id === undefined) return noUuid('id');
  if (!isTime(clock)) return noTime('clock');
  if (typeof outcome !== 'string' || !outcomeNames.has(outcome)) return wrongField('outcome', `must be one of ${outcomes.join(', ')}`);
  if (report !== undefined && report !== null && !isJsonObject(report)) return wrongField('report', 'must be a JSON object');
  const journal = optionalUuid(object['journalId']);
  if (journal === null) return noUuid('journalId');
  if (parseUuid(object['device']) !== fromDevice) return otherDevice;
  return {
    message: {
      v: 1,
      id,
      device: fromDevice,
      clock,
      ...journalField(journal),
      outcome: outcome as AnswerMessage['outcome'],
      ...(isJsonObject(report) ? { report } : {}),
      ...textField('reason', object['reason']),
    },
  };
}

/** A will may be as short as {"online":false}: the topic identifies the device. */
function presenceOf(object: JsonObject, fromDevice: string): Reading<PresenceMessage> {
  const { v, online, clock, device } = object;
  const isShortWill = online === false && v === undefined;
  if (v !== protocolVersion && !isShortWill) return otherVersion;
  if (typeof online !== 'boolean') return wrongField('online', 'must be true or false');
  if (online && !isTime(clock)) return noTime('clock');
  const journal = optionalUuid(object['journalId']);
  const bootId = optionalUuid(object['bootId']);
  if (journal === null) return noUuid('journalId');
  if (bootId === null) return noUuid('bootId');
  if ((online || device !== undefined) && parseUuid(device) !== fromDevice) return otherDevice;
  return {
    message: {
      v: 1,
      device: fromDevice,
      online,
      ...(isTime(clock) ? { clock } : {}),
      ...(bootId === undefined ? {} : { bootId }),
      ...journalField(journal),
      ...kindField(object['kind']),
      ...numberField('battery', object['battery']),
      ...textField('paper', object['paper']),
      ...numberField('signal', object['signal']),
      ...textField('bank', object['bank']),
      ...textField('firmware', object['firmware']),
      ...featuresField(object['features']),
    },
  };
}

function readJsonObject(bytes: Uint8Array | string, limitBytes = maxMessageBytes): Reading<JsonObject> {
  if (Buffer.byteLength(bytes) > limitBytes) return { problem: 'too-large' };
  let text: string;
  let value: unknown;
  try {
    text = typeof bytes === 'string' ? bytes : strictUtf8.decode(bytes);
  } catch {
    return { problem: 'not-json', why: 'it is not UTF-8' };
  }
  const { broken } = measureShape(typeof bytes === 'string' ? Buffer.from(bytes) : bytes, { deepest, maxValues: maxMessageValues });
  if (broken !== undefined) return { problem: broken === 'deepest' ? 'too-deep' : 'too-many-values' };
  try {
    value = parseExactJson(text);
  } catch {
    return { problem: 'not-json', why: 'it is no JSON' };
  }
  return isJsonObject(value) ? { message: value } : { problem: 'not-json', why: 'it is JSON, but no object' };
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

const deepest = 100;

function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value);
}

function isTime(value: unknown): value is string {
  return clockReadingMs(value) !== undefined;
}

/** null: present, but no UUID. */
function optionalUuid(value: unknown): string | undefined | null {
  if (value === undefined || value === null) return undefined;
  return parseUuid(value) ?? null;
}

function journalField(journalId: string | undefined): { journalId?: string } {
  return journalId === undefined ? {} : { journalId };
}

/** A kind from a later protocol version is ignored. */
function kindField(value: unknown): { kind?: DeviceKind } {
  return typeof value === 'string' && kindNames.has(value) ? { kind: value as DeviceKind } : {};
}

const maxTextLength = 1000;

/** Removes U+0000, which PostgreSQL cannot store, and unpaired surrogates; a sentence for people loses nothing by that. */
function storable(text: string): string {
  return text.slice(0, maxTextLength).replaceAll('\u0000', '').toWellFormed();
}

function textField<Name extends string>(name: Name, value: unknown): { [key in Name]?: string } {
  return typeof value === 'string' ? ({ [name]: storable(value) } as { [key in Name]?: string }) : {};
}

const maxFeatures = 50;

/** Entries of another type are ignored, like unknown features. */
function featuresField(value: unknown): { features?: string[] } {
  if (!Array.isArray(value)) return {};
  const texts = value.slice(0, maxFeatures).filter((feature): feature is string => typeof feature === 'string');
  return { features: texts.map((feature) => storable(feature).slice(0, maxFeatureLength)) };
}

const maxFeatureLength = 64;

function numberField<Name extends string>(name: Name, value: unknown): { [key in Name]?: number } {
  return Number.isFinite(value) ? ({ [name]: value } as { [key in Name]?: number }) : {};
}
