// Causes faults at times drawn from the seed, each kind with its own random sequence, and repairs everything when the calm begins.
import type { Random } from '../src/kernel/random.ts';
import type { ChannelName } from '../src/link/channel.ts';
import { seededRandom } from '../test/support/seeded-random.ts';
import type { Lapse } from './device-lapses.ts';
import { racedPlaces, rarePlaces, rarestPlaces } from './places-that-matter.ts';
import { type Mishap, mishaps } from './plan.ts';
import type { Shop } from './shop.ts';

export interface MishapMaker {
  /** Ends all faults and repairs their effects. */
  calm(): void;
  readonly counts: Record<Mishap, number>;
}

/** At the beginning of a day. */
const rareArmed = 12;
const stallsArmed = 3;

export function startMishaps(shop: Shop, seed: number): MishapMaker {
  const { clock, plan } = shop;
  const counts = Object.fromEntries(mishaps.map((mishap) => [mishap, 0])) as Record<Mishap, number>;
  const mend: (() => void)[] = [];
  let isCalm = false;

  function forAWhile(durationMs: number, undo: () => void): void {
    let isUndone = false;
    const once = () => {
      if (!isUndone) undo();
      isUndone = true;
    };
    clock.after(durationMs, once);
    mend.push(once);
  }

  /** Quiet hours do not count: otherwise every kind would occur at the moment when they end. */
  function afterAwake(ms: number, action: () => void): void {
    const dueMs = clock.awake() + ms;
    clock.after(ms, () => {
      const leftMs = dueMs - clock.awake();
      if (leftMs > 0) afterAwake(leftMs, action);
      else action();
    });
  }

  function schedule(mishap: Mishap, random: Random): void {
    const meanMs = plan.every[mishap];
    if (!Number.isFinite(meanMs)) return;
    afterAwake(Math.floor(-Math.log(1 - random.fraction()) * meanMs), () => {
      if (isCalm) return;
      counts[mishap] += 1;
      shop.trace(`mishap ${mishap}`);
      makers[mishap](shop, random, forAWhile);
      schedule(mishap, random);
    });
  }

  if (Number.isFinite(plan.every['harm-at-statement'])) {
    for (let count = 0; count < rareArmed; count += 1) shop.interruptions.arm(rarePlaces);
    for (const place of rarestPlaces) shop.interruptions.arm([place]);
    for (let count = 0; count < stallsArmed; count += 1) shop.interruptions.armStall(racedPlaces);
  }
  // Omitting a kind does not change the others.
  for (const [at, mishap] of mishaps.entries()) schedule(mishap, seededRandom(seed + 1_000 * (at + 1)));
  return {
    counts,
    calm() {
      isCalm = true;
      shop.state.isCalm = true;
      shop.interruptions.disarm();
      shop.lapses.calm();
      shop.earlyOperator.calm();
      for (const undo of mend) undo();
      shop.fleet.mend();
    },
  };
}

type Maker = (shop: Shop, random: Random, forAWhile: (durationMs: number, undo: () => void) => void) => void;

const between = (random: Random, fromMs: number, toMs: number) => Math.floor(fromMs + random.fraction() * (toMs - fromMs));
const pick = <Item>(random: Random, items: readonly Item[]): Item => items[Math.floor(random.fraction() * items.length)] as Item;

const makers: Record<Mishap, Maker> = {
  'gateway-crash': ({ fleet }) => fleet.crashOne(),
  'harm-at-statement': ({ interruptions }) => interruptions.arm(),
  'gateway-stall': ({ fleet }) => fleet.stallOne(),
  'gateway-stop': ({ fleet }) => fleet.stopOne(),
  'gateway-clock': ({ fleet }) => fleet.setClockOfOne(),
  'database-outage'({ state, answerWatch }, random, forAWhile) {
    const durationMs = between(random, 200, 20_000);
    state.isDatabaseDown = true;
    answerWatch.disturbed(durationMs);
    forAWhile(durationMs, () => {
      answerWatch.disturbed();
      state.isDatabaseDown = false;
    });
  },
  'gateway-channel-cut'({ fleet }, random, forAWhile) {
    const channel = pick<ChannelName>(random, ['mqtt', 'queue']);
    const id = fleet.cutOne(channel, true);
    forAWhile(between(random, 100, 90_000), () => void fleet.cutOne(channel, false, id));
  },
  'device-crash'({ devices }, random) {
    void pick(random, devices).device.crash();
  },
  'device-cut'({ devices, wires }, random, forAWhile) {
    const { id } = pick(random, devices);
    const channels = pick<ChannelName[]>(random, [['mqtt'], ['queue'], ['mqtt', 'queue']]);
    for (const channel of channels) wires[channel].setDeviceCut(id, true);
    forAWhile(between(random, 500, 240_000), () => {
      for (const channel of channels) wires[channel].setDeviceCut(id, false);
    });
  },
  'device-mute'({ devices, wires }, random, forAWhile) {
    const { id } = pick(random, devices);
    for (const wire of Object.values(wires)) wire.setDeviceMute(id, true);
    forAWhile(between(random, 2_000, 400_000), () => {
      for (const wire of Object.values(wires)) wire.setDeviceMute(id, false);
    });
  },
  'device-clock'({ devices, clock }, random) {
    const target = pick(random, devices);
    target.clockSetAtMs = clock.now();
    target.device.setFaults({ clockSkewMs: between(random, -600_000, 600_000) });
  },
  'journal-loss'({ devices, clock }, random) {
    const target = pick(random, devices);
    // A device that forgets a running command could execute it twice: no gateway can prevent that.
    if (!target.hasJournal || clock.now() - target.lastCommandAtMs < 30_000) return;
    void target.loseJournal();
  },
  'device-forgets': (shop, random) => lapse(shop, random, 'forgets'),
  'journal-cut': (shop, random) => lapse(shop, random, 'cut'),
  'old-device-denies': (shop, random) => lapse(shop, random, 'denies'),
  'early-operator'({ devices, earlyOperator, plan }, random) {
    const able = devices.filter(({ hasJournal }) => hasJournal);
    const restartsIt = random.fraction() < 0.5;
    const decides = random.fraction() < plan.earlyDoneRate ? 'done' : 'refused';
    // A command that an operator settles as done was mostly lost in transit; of the others the device executed or declined it.
    const isLost = decides === 'done' && random.fraction() < 0.7;
    if (able.length > 0) earlyOperator.await(pick(random, able), { decides, isLost, restartsIt, dice: random.fraction() });
  },
};

/** Of a device that keeps a journal, or for `denies` of one that keeps none. */
function lapse({ devices, lapses }: Shop, random: Random, kind: Lapse): void {
  const able = devices.filter(({ hasJournal }) => hasJournal === (kind !== 'denies'));
  if (able.length > 0) lapses.await(pick(random, able), kind);
}
