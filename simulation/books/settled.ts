// Whether all is settled, and if not, when the next action is due: until then nothing happens, and the simulated calm may skip the time.
import type { Database } from '../../src/database/database.ts';
import type { Shop } from '../shop.ts';

/** While a command is open or disputed, or a device is off: check again soon. */
const looksAgainMs = 4 * 60_000;

/** Milliseconds until the next action is due; undefined when nothing is open and nothing pending. */
export async function dueInMs({ clock, devices }: Shop, { queries }: Database): Promise<number | undefined> {
  const open = await queries.selectFrom('commands').select('id').where('state', 'in', ['sent', 'unknown', 'disputed']).executeTakeFirst();
  if (open || !devices.every(({ device }) => device.isOn())) return looksAgainMs;
  const pending = await queries
    .selectFrom('callbacks')
    .select((select) => select.fn.min('next_attempt_at').as('at'))
    .where('state', '=', 'pending')
    .executeTakeFirst();
  return pending?.at == null ? undefined : Math.max(0, pending.at - clock.now());
}

/** Open commands that began longer ago than that. */
export function tellWhatIsOpen({ clock, storage, devices, violated }: Shop, longerThanMs: number): void {
  const open = `select id, name, state, device_id from commands where state in ('sent', 'unknown', 'disputed') and issued_at < ?`;
  for (const { id, name, state, device_id: deviceId } of storage.peek(open, [clock.now() - longerThanMs])) {
    const device = devices.find((each) => each.id === deviceId)?.name;
    violated(`${name} ${id} on ${device} is still ${state} after ${longerThanMs / 60_000} minutes of calm`);
  }
}
