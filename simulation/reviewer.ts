// The person at the review list: looks into the bank's book and the fiscal memory, and decides by what stands there.
// Only where nobody else can: an old device, or one that lost its journal. Everything else must settle by itself.
import { every } from '../src/kernel/clock.ts';
import type { Command } from '../src/ledger/command.ts';
import type { Shop, ShopDevice } from './shop.ts';

const looksEveryMs = 5 * 60_000;

export function canSettleItself(target: ShopDevice, command: Command): boolean {
  return target.hasJournal && command.journalId === target.device.journal().journalId;
}

/** What really happened: the bank's entry or the fiscal document under this command. */
export function truthOf(target: ShopDevice, command: Command) {
  const entry = target.device.bank.find(command.id).find(({ kind }) => kind !== 'decline');
  const document = target.device.fiscalMemory().find(command.id);
  const isDone = target.kind === 'register' ? document !== undefined : entry !== undefined;
  return { isDone, entry };
}

export function startReviewer(shop: Shop): { readonly decided: number } {
  const counts = { decided: 0 };
  every(shop.clock, looksEveryMs, async () => {
    const { life } = shop;
    if (!life || shop.state.isDatabaseDown) return;
    // A life that ends meanwhile never answers; the next look finds the next one.
    void life.ledger
      .listReview(50)
      .then(async (commands) => {
        for (const command of commands) {
          const target = shop.devices.find(({ id }) => id === command.deviceId);
          if (!target || command.settledAtMs !== null || canSettleItself(target, command)) continue;
          const isRunning = target.device.journal().unfinished().length > 0 || !target.device.isOn();
          if (isRunning || shop.clock.now() < command.answerByMs + 60_000) continue;
          const { isDone, entry } = truthOf(target, command);
          await life.ledger.decide(command.id, {
            state: isDone ? 'done' : 'refused',
            reason: 'It stands so in the books.',
            actor: 'reviewer',
            ...(isDone && entry && command.name === 'Pay' ? { operationId: entry.operationId, rrn: entry.rrn } : {}),
          });
          counts.decided += 1;
          shop.trace(`reviewer ${command.id} ${isDone}`);
        }
      })
      .catch(() => {});
  });
  return counts;
}
