// Named moments at which a gateway can be killed, and the settings for that. die-at.ts is the other half: Node loads it into the
// gateway's process, without any support in `src`.
import type { Settings } from '../support/gateway-process.ts';

/** The commit of a statement place (statement-places.ts), or a message with this text. */
export type Moment = { when: 'before' | 'after' } & ({ commit: RegExp } | { write: RegExp });

/** Of a batch, or of one alone; the last one is that of the new core [D300]. */
const settling = /update commands \((?:settled_at, state|state, settled_at|version, state)\)/;
/** An answer to a till that an operation was done: its delivery has yet to be noted. */
const answered = /^HTTP\/1\.1 200 [^]*"OID"/;

export const moments = {
  'before the first commit': { when: 'before', commit: /insert commands/ },
  'after the first commit, before the publish': { when: 'after', commit: /insert commands/ },
  'after the publish': { when: 'after', write: /"name":"(Pay|PrintReceipt)"/ },
  'after the answer, before the settlement’s commit': { when: 'before', commit: settling },
  'after the settlement, before the HTTP answer': { when: 'after', commit: settling },
  'before the HTTP answer': { when: 'before', write: answered },
  'after the HTTP answer, before its delivery is noted': { when: 'after', write: answered },
  'after the acceptance was noted, before the answer': { when: 'after', commit: /update commands \(accepted_at/ },
  'before a delivery is noted': { when: 'before', commit: /update commands \(outcome_(?:received|missed)_at/ },
  'after a device was asked': { when: 'after', write: /"name":"Recall"/ },
  'after an invoice was written': { when: 'after', commit: /insert invoices/ },
  'after an invoice moved, before its callback': { when: 'after', commit: /insert callbacks|update invoices \((?:version, )?state/ },
  'after a callback was claimed': { when: 'after', commit: /update callbacks \(leased_by/ },
  'in a callback': { when: 'after', write: /^GET [^]*webhook-id: /i },
  'after a callback, before that is written': { when: 'before', commit: /update callbacks \(state/ },
} as const satisfies Record<string, Moment>;

/** During a start on a database that needs no migration. */
export const startMoments = {
  'in the start, before its first heartbeat': { when: 'before', commit: /insert instances/ },
  'in the start, after its first heartbeat': { when: 'after', commit: /insert instances/ },
  'in the start, after its predecessor was given up': { when: 'after', commit: /update instances \(stopped_at\)/ },
} as const satisfies Record<string, Moment>;

const known: Record<string, Moment> = { ...moments, ...startMoments };

export function momentOf(name: string): Moment {
  const moment = known[name];
  if (!moment) throw new Error(`There is no moment "${name}"; there are: ${Object.keys(known).join('; ')}.`);
  return moment;
}

/** The environment of a gateway that dies at the `nth` occurrence of the moment. */
export function dieAt(name: string, nth = 1): Settings {
  momentOf(name);
  return {
    NODE_OPTIONS: `--import ${new URL('die-at.ts', import.meta.url).href}`,
    TILLGATE_TEST_DIE_AT: name,
    TILLGATE_TEST_DIE_AT_TIME: String(nth),
  };
}
