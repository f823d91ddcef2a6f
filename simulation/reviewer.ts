// The person who works on the review list: reads the bank's book and the fiscal memory, and decides by them. Only if nothing else can
// decide: an old device, or one that lost its journal. All others must settle automatically. The reviewer does not wait until it is on the
// list: it is the gateway that must not allow a decision while the device may still act [D63].
import { every } from '../src/kernel/clock.ts';
import { GatewayError } from '../src/kernel/error-codes.ts';
import { type Command, commandColumns, openOnly, toCommand } from '../src/ledger/command.ts';
import type { Shop } from './shop.ts';
import { type ShopDevice, truthOf } from './shop-devices.ts';

const looksEveryMs = 20_000;
const afterLeapMs = 5_000;
/** A device whose clock was set in between may take answerBy to be later: then the person waits for it. */
const clockDoubtMs = 20 * 60_000;

export function canSettleItself(target: ShopDevice, command: Command): boolean {
  if (!target.hasJournal || target.forgotten.has(command.id)) return false;
  return command.journalId === target.device.journal().journalId;
}

function byTheBooks(target: ShopDevice, command: Command) {
  const { isDone, entry } = truthOf(target, command);
  const numbers = isDone && entry && command.name === 'Pay' ? { operationId: entry.operationId, rrn: entry.rrn } : {};
  return { state: isDone ? 'done' : 'refused', reason: 'It stands so in the books.', actor: 'reviewer', ...numbers } as const;
}

export function startReviewer(shop: Shop): { readonly decided: number; readonly heldBack: number; readonly closed: number } {
  const counts = { decided: 0, heldBack: 0, closed: 0 };

  async function decide(life: NonNullable<ReturnType<Shop['fleet']['anyLife']>>, command: Command): Promise<void> {
    const target = shop.devices.find(({ id }) => id === command.deviceId);
    if (!target || command.settledAtMs !== null || canSettleItself(target, command)) return;
    const isClockDoubtful = target.clockSetAtMs > command.issuedAtMs - clockDoubtMs;
    const isRunning = target.device.journal().unfinished().length > 0 || !target.device.isOn();
    if (isClockDoubtful && (isRunning || shop.clock.now() < command.answerByMs + clockDoubtMs)) return;
    const decision = byTheBooks(target, command);
    try {
      await life.ledger.decide(command.id, decision);
      counts.decided += 1;
      const isAtIt =
        target.device.isOn() &&
        target.device
          .journal()
          .unfinished()
          .some(({ id }) => id === command.id);
      if (isAtIt && !isClockDoubtful) shop.violated(`${command.name} ${command.id} was decided by a person while ${target.name} was at it`);
      shop.trace(`reviewer decides ${command.id}: ${decision.state}`);
    } catch (error) {
      if (error instanceof GatewayError && error.errorName === 'The_status_cannot_be_applied') counts.heldBack += 1;
    }
  }

  /** A device contradicts the settlement: the reviewer reads its books once it has ended, and decides by them. */
  async function close(life: NonNullable<ReturnType<Shop['fleet']['anyLife']>>, command: Command): Promise<void> {
    const target = shop.devices.find(({ id }) => id === command.deviceId);
    if (!target?.device.isOn() || target.device.journal().unfinished().length > 0) return;
    const decision = byTheBooks(target, command);
    await life.ledger.decide(command.id, { ...decision, closesReview: true });
    counts.closed += 1;
    shop.trace(`reviewer closes the review of ${command.id}: ${decision.state}`);
  }

  /** A journal that is lost can confirm no decision: the reviewer says so, or the numbers would wait for ever [D304]. */
  async function declareLost(life: NonNullable<ReturnType<Shop['fleet']['anyLife']>>): Promise<void> {
    for (const { deviceId, journalId } of await life.ledger.waitingDecisions()) {
      const target = shop.devices.find(({ id }) => id === deviceId);
      if (!target?.device.isOn() || journalId === null || target.device.journal().journalId === journalId) continue;
      if (!life.link.presence.isLiveAnywhere(deviceId)) continue;
      await life.ledger.declareLost({ deviceId, actor: 'reviewer', reason: 'Its journal is lost.' }).catch(() => {});
      shop.trace(`reviewer declares a journal of ${target.name} lost`);
    }
  }

  function look(): void {
    const life = shop.fleet.anyLife();
    if (!life || shop.state.isDatabaseDown) return;
    // A gateway that dies meanwhile never answers; the next round uses the next one.
    void life.database.queries
      .selectFrom('commands')
      .select(commandColumns)
      .where(openOnly)
      // A person decides about the payment, which ends the request to stop it.
      .where('name', '<>', 'Abort')
      .execute()
      .then(async (rows) => {
        for (const row of rows) await decide(life, toCommand(row));
        await checkLocks(shop, life);
        await declareLost(life);
        for (const row of await contradicted(life)) await close(life, toCommand(row));
      })
      .catch(() => {});
  }

  let lookedAtMs = shop.clock.now();
  every(shop.clock, looksEveryMs, () => {
    // Quiet hours were skipped, as by sleeping machines: a device first continues its running command.
    const hasLeapt = shop.clock.now() > lookedAtMs + 2 * looksEveryMs;
    lookedAtMs = shop.clock.now();
    if (hasLeapt) shop.clock.after(afterLeapMs, look);
    else look();
  });
  return counts;
}

function contradicted({ database }: NonNullable<ReturnType<Shop['fleet']['anyLife']>>) {
  return database.queries
    .selectFrom('commands')
    .select(commandColumns)
    .where('settled_at', 'is not', null)
    .where('review_since', 'is not', null)
    .where('reviewed_at', 'is', null)
    .execute();
}

/**
 * Sweeps find open commands by the locks of their devices [D240]: one without would stay open for ever. A request to stop locks none, and
 * the settlement of its payment ends it [D315].
 */
async function checkLocks({ violated }: Shop, { database }: NonNullable<ReturnType<Shop['fleet']['anyLife']>>): Promise<void> {
  const open = database.queries.selectFrom('commands').select('commands.id').where(openOnly);
  const unlocked = await open
    .where('name', '<>', 'Abort')
    .where((row) => row.not(row.exists(row.selectFrom('device_locks').select('device_id').whereRef('command_id', '=', 'commands.id'))))
    .execute();
  for (const { id } of unlocked) violated(`command ${id} is open, and no device is locked by it`);
  const unended = await open
    .where('name', '=', 'Abort')
    .where((row) =>
      row.not(
        row.exists(
          row
            .selectFrom('commands as payment')
            .select('payment.id')
            .whereRef('payment.id', '=', 'commands.target_id')
            .where('payment.state', 'in', ['sent', 'unknown', 'disputed']),
        ),
      ),
    )
    .execute();
  for (const { id } of unended) violated(`the request to stop ${id} is open, and its payment has ended`);
}
