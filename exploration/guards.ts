// Leaves out one guard after another: for each kind of event and each table, is there a pair of events that shows the loss?
import type { Unit } from '../src/database/commit-data.ts';
import type { Event } from '../src/money/event.ts';
import { commute } from './commutation.ts';
import { plant } from './gateway.ts';
import { worlds } from './worlds.ts';

const types: readonly Event['type'][] = [
  ...(['Pay', 'CloseDoc', 'Refund', 'CancelTransaction', 'Print', 'Plain', 'Report', 'Accepted', 'NotSent', 'LastIsAnother'] as const),
  ...([
    'AbortRefused',
    'Deadline',
    'Decide',
    'CloseByHand',
    'HardwareLost',
    'Delivery',
    'Remove',
    'Get',
    'Payd',
    'Expire',
    'CancelInvoice',
  ] as const),
];
const tables = ['device_locks', 'commands', 'names', 'invoices', 'idempotency_keys', 'an OID', 'late columns'] as const;

let left = 0;

function without(type: Event['type'], table: (typeof tables)[number], unit: Unit, event: Event): Unit {
  if (event.type !== type) return unit;
  if (table === 'an OID') {
    left += unit.absent?.length ?? 0;
    return { ...unit, absent: [] };
  }
  const writes = unit.writes.map((write) => {
    if (table === 'late columns' ? !write.also : write.table !== table) return write;
    left += 1;
    const { also: _, ...rest } = write;
    return table === 'late columns' ? rest : { ...rest, guard: {} };
  });
  return { ...unit, writes };
}

/** How many guards nothing catches. */
export function guardsLeftOut(say: (line: string) => void, limitMs = 4000): number {
  let uncaught = 0;
  for (const type of types)
    for (const table of tables) {
      plant({ unit: (unit, event) => without(type, table, unit, event) });
      left = 0;
      let caught: string | undefined;
      for (const [name, world] of Object.entries(worlds)) {
        const { violation } = commute(world, { depth: Math.min(world.pairs, 3), limitMs });
        if (!violation) continue;
        caught = `caught in "${name}" with ${violation.sequence.length} events`;
        break;
      }
      if (left === 0) continue;
      say(`no guard of ${type} on ${table}: ${caught ?? 'NOT CAUGHT'}`);
      if (!caught) uncaught += 1;
    }
  plant({});
  return uncaught;
}
