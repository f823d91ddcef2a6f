// Masks a call or a device's report for every viewer: the bank's token allows a void, and a callback URL may contain a login.
// Both are replaced by stars at any depth. Pure.
import { isExactNumber, parseExactJson } from '../../../kernel/exact-json.ts';
import { hideLogin } from './hidden-login.ts';

export function starred(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, starredValue(value, name)]));
}

/** As text; a value that is no object is not changed. */
export function starredJson(json: string): string {
  return json.startsWith('{') ? JSON.stringify(starred(parseExactJson(json) as Record<string, unknown>)) : json;
}

function starredValue(value: unknown, name?: string): unknown {
  if (typeof value === 'string') {
    if (name === 'token') return value === '' ? value : '***';
    return name === 'CallbackURI' ? hideLogin(value) : value;
  }
  if (Array.isArray(value)) return value.map((item) => starredValue(item));
  return typeof value === 'object' && value !== null && !isExactNumber(value) ? starred(value as Record<string, unknown>) : value;
}
