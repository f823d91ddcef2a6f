// How a repeated request is recognised: by its own number, by an Idempotency-Key, by both, or by its content alone [D58].
import { createHash } from 'node:crypto';
import type { Clerk } from './clerk.ts';

export const styles = ['document', 'key', 'both', 'neither'] as const;
export type Style = (typeof styles)[number];

export interface Recognised {
  hashRequest: () => string;
  idempotency?: { key: string; requestHash: string };
}

/** The same for every repeat of one request. */
export function recognised(clerk: Clerk, style: Style, content: unknown): Recognised {
  const requestHash = createHash('sha256').update(JSON.stringify(content)).digest('hex');
  const hashRequest = () => requestHash;
  if (style !== 'key' && style !== 'both') return { hashRequest };
  return { hashRequest, idempotency: { key: clerk.random.uuid(), requestHash } };
}
