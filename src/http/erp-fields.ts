// Checks the field names of an ERP's call before the schema, by one rule for all calls. A name that differs from a known field only in
// letter case, "_" or "-" is refused instead of ignored [D144]: with `documentNR` a payment would have no number. An optional field that
// is null or empty counts as absent [D145].
import type { FastifyRequest } from 'fastify';
import { canonicalJson } from '../kernel/canonical-json.ts';
import { invalidRequest } from '../kernel/error-codes.ts';
import { shortName } from './json-body.ts';

/** Fields that make a repeat harmless: an empty one is an error and not an absent one [D145]. */
const neverEmpty: ReadonlySet<string> = new Set(['documentNr', 'ReceiptUid', 'IdempotencyKey']);

interface KnownFields {
  byFolded: ReadonlyMap<string, string>;
  optional: readonly string[];
}

const knownFields = new WeakMap<object, KnownFields>();

/** The normal form of a name: equal for all its spellings. */
export function foldName(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '');
}

/** Throws errorCode 40 for a likely typo; removes fields that count as absent. For routes with a key, after the key is checked [D8]. */
export function readErpFields(request: FastifyRequest): void {
  const { body, querystring } = (request.routeOptions.schema ?? {}) as { body?: unknown; querystring?: unknown };
  readPart(request.query, querystring);
  readPart(request.body, body);
}

function readPart(part: unknown, schema: unknown): void {
  if (!isRecord(part) || !isRecord(schema) || !isRecord(schema['properties'])) return;
  const known = knownFieldsOf(schema, schema['properties']);
  for (const name of Object.keys(part)) {
    const meant = known.byFolded.get(foldName(name));
    if (meant === undefined || meant === name) continue;
    if (!Object.hasOwn(part, meant) || canonicalJson(part[meant]) !== canonicalJson(part[name])) {
      throw invalidRequest(`${shortName(name)} is not a field of this call; write ${meant}.`);
    }
    delete part[name];
  }
  for (const name of known.optional) {
    const value = part[name];
    if (value === null || (value === '' && !neverEmpty.has(name))) delete part[name];
  }
}

function knownFieldsOf(schema: Record<string, unknown>, properties: Record<string, unknown>): KnownFields {
  let known = knownFields.get(schema);
  if (known === undefined) {
    const names = Object.keys(properties);
    const required = Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : [];
    known = {
      byFolded: new Map(names.map((name) => [foldName(name), name])),
      optional: names.filter((name) => !required.includes(name)),
    };
    knownFields.set(schema, known);
  }
  return known;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
