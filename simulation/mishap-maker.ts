// Lets things go wrong at times drawn from the seed, and sets everything right when the calm begins.
import type { Random } from '../src/kernel/random.ts';
import type { ChannelName } from '../src/link/channel.ts';
import { type Mishap, mishaps } from './plan.ts';
import type { Shop } from './shop.ts';

export interface MishapMaker {
  /** From now on nothing goes wrong, and what did is mended. */
  calm(): void;
  readonly counts: Record<Mishap, number>;
}

export function startMishaps(shop: Shop, random: Random): MishapMaker {
  const { clock, plan, wires, devices } = shop;
  const counts = Object.fromEntries(mishaps.map((mishap) => [mishap, 0])) as Record<Mishap, number>;
  const mend: (() => void)[] = [];
  let isCalm = false;
  let isStarting = false;
  const between = (fromMs: number, toMs: number) => Math.floor(fromMs + random.fraction() * (toMs - fromMs));
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random.fraction() * items.length)] as Item;

  function restart(): void {
    if (shop.life || isStarting) return;
    isStarting = true;
    shop
      .startGateway()
      // The database may be away just then.
      .catch(() => clock.after(3_000, restart))
      .finally(() => {
        isStarting = false;
      });
  }

  function forAWhile(durationMs: number, undo: () => void): void {
    let isUndone = false;
    const once = () => {
      if (!isUndone) undo();
      isUndone = true;
    };
    clock.after(durationMs, once);
    mend.push(once);
  }

  const make: Record<Mishap, () => void> = {
    'gateway-crash'() {
      shop.crash();
      clock.after(between(500, 60_000), restart);
    },
    'gateway-crash-at-statement'() {
      shop.state.crashAtNextStatement = true;
      const stop = shop.onCrash(() => {
        stop();
        clock.after(between(500, 30_000), restart);
      });
    },
    'database-outage'() {
      shop.state.isDatabaseDown = true;
      forAWhile(between(200, 20_000), () => {
        shop.state.isDatabaseDown = false;
      });
    },
    'gateway-channel-cut'() {
      const channel = pick<ChannelName>(['mqtt', 'queue']);
      const id = shop.life?.instanceId;
      if (id === undefined) return;
      wires[channel].setGatewayCut(id, true);
      forAWhile(between(100, 90_000), () => wires[channel].setGatewayCut(id, false));
    },
    'device-crash'() {
      void pick(devices).device.crash();
    },
    'device-cut'() {
      const { id } = pick(devices);
      const channels = pick<ChannelName[]>([['mqtt'], ['queue'], ['mqtt', 'queue']]);
      for (const channel of channels) wires[channel].setDeviceCut(id, true);
      forAWhile(between(500, 240_000), () => {
        for (const channel of channels) wires[channel].setDeviceCut(id, false);
      });
    },
    'device-clock'() {
      const target = pick(devices);
      target.device.setFaults({ clockSkewMs: between(-600_000, 600_000) });
    },
    'journal-loss'() {
      const target = pick(devices.filter(({ hasJournal }) => hasJournal));
      // A command that is under way could be taken on twice by a device that forgets it: no gateway can help that.
      if (!target || clock.now() - target.lastCommandAtMs < 30_000) return;
      void target.loseJournal();
    },
  };

  function schedule(mishap: Mishap): void {
    const meanMs = plan.every[mishap];
    if (!Number.isFinite(meanMs)) return;
    clock.after(Math.floor(-Math.log(1 - random.fraction()) * meanMs), () => {
      if (isCalm) return;
      counts[mishap] += 1;
      shop.trace(`mishap ${mishap}`);
      make[mishap]();
      schedule(mishap);
    });
  }

  for (const mishap of mishaps) schedule(mishap);
  return {
    counts,
    calm() {
      isCalm = true;
      shop.state.isCalm = true;
      shop.state.crashAtNextStatement = false;
      for (const undo of mend) undo();
      restart();
    },
  };
}
