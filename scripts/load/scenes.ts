// The load scenes: each opens its own gateway, puts load on it, measures, and checks its bounds. The time of a normal caller is always
// measured beside the load, which must not delay it.
import { randomUUID } from 'node:crypto';
import { createTill, type Till } from '../../test/support/till.ts';
import { type LoadShop, openLoadShop, startChild } from './load-shop.ts';
import { inLanes, pause, type SceneResult, spreadOf } from './measure.ts';

export interface SceneOptions {
  /** A tenth or less of everything, for CI. */
  isShort: boolean;
  minutes: number;
  mqttUrl?: string | undefined;
  say(line: string): void;
}

/** The short form runs beside other tests: it finds endless waits, not exact times. */
export const boundMs = (isShort: boolean) => (isShort ? 10_000 : 1_000);

export const tillOf = ({ baseUrl, apiKey }: LoadShop): Till => createTill({ baseUrl, apiKey, adminToken: '' });

/** Calls repeatedly until it is stopped, and records the times. */
function startGoodCaller(call: () => Promise<unknown>, everyMs: number, say: SceneOptions['say']) {
  const tookMs: number[] = [];
  const troubles: string[] = [];
  let isOver = false;
  const ended = (async () => {
    while (!isOver) {
      const from = performance.now();
      await call().then(
        () => tookMs.push(performance.now() - from),
        (error: unknown) => troubles.push(`${String(error)} after ${Math.round(performance.now() - from)} ms`),
      );
      await pause(everyMs);
    }
  })();
  return {
    async stop() {
      isOver = true;
      await ended;
      if (troubles.length > 0) say(`the good caller got: ${troubles.slice(0, 5).join('; ')}`);
      return { calls: tookMs.length, failures: troubles.length, ...spreadOf(tookMs) };
    },
  };
}

const payOn = (till: Till, DeviceID: string) => till.post('/Device/payment/Pay', { DeviceID, amount: 10, documentNr: randomUUID() });

/** Many payments wait for their customers at once. */
export async function openPays({ isShort, say }: SceneOptions): Promise<SceneResult> {
  const count = isShort ? 100 : 1_000;
  const holdMs = isShort ? 4_000 : 60_000;
  const startedAt = performance.now();
  const shop = await openLoadShop({ devices: count + 1, holdMs, say });
  try {
    const till = tillOf(shop);
    const [idle = '', ...devices] = shop.deviceIds;
    const good = startGoodCaller(() => till.get('/Device/Device/Status', { DeviceID: idle }), 50, say);
    const memoryBefore = shop.memory();
    const ownMs: number[] = [];
    let answered = 0;
    await Promise.all(
      devices.map(async (device) => {
        const from = performance.now();
        const { errorCode } = await payOn(till, device);
        ownMs.push(performance.now() - from - holdMs);
        if (errorCode === 0) answered += 1;
      }),
    );
    const memoryAfter = shop.memory();
    const caller = await good.stop();
    const farm = await shop.endFarm();
    const own = spreadOf(ownMs);
    return {
      scene: `${count} payments open at once`,
      seconds: (performance.now() - startedAt) / 1000,
      figures: {
        'open at once': farm.mostHeld,
        approved: answered,
        'own time p50 ms': own.p50,
        'own time p95 ms': own.p95,
        'good caller p50 ms': caller.p50,
        'good caller p95 ms': caller.p95,
        'memory MB': Math.round(memoryAfter),
        'memory for them MB': Math.round(memoryAfter - memoryBefore),
      },
      checks: [
        { what: 'open at once', value: farm.mostHeld, exactly: count },
        { what: 'approved', value: answered, exactly: count },
        { what: 'charged', value: farm.done, exactly: count },
        { what: 'charged twice', value: farm.twice, exactly: 0 },
        { what: 'calls of the good caller that failed', value: caller.failures, exactly: 0 },
        { what: 'good caller p95 ms', value: caller.p95, atMost: boundMs(isShort) },
      ],
    };
  } finally {
    await shop.stop();
  }
}

/** Many connected devices, most of them idle, as in practice. */
export async function manyDevices({ isShort, mqttUrl, say }: SceneOptions): Promise<SceneResult> {
  const count = isShort ? 200 : 10_000;
  const pays = isShort ? 40 : 500;
  const startedAt = performance.now();
  const shop = await openLoadShop({ devices: count, holdMs: 0, mqttUrl, say });
  try {
    const till = tillOf(shop);
    // By then every one of them has sent its presence.
    await pause(isShort ? 1_000 : 35_000);
    const cpuBefore = shop.cpuSeconds();
    const idleMs = isShort ? 2_000 : 20_000;
    await pause(idleMs);
    const idlePercent = ((shop.cpuSeconds() - cpuBefore) / (idleMs / 1000)) * 100;
    const tookMs: number[] = [];
    let approved = 0;
    const step = Math.max(1, Math.floor(count / pays));
    await inLanes(shop.deviceIds.filter((_, at) => at % step === 0).slice(0, pays), 10, async (device) => {
      const from = performance.now();
      if ((await payOn(till, device)).errorCode === 0) approved += 1;
      tookMs.push(performance.now() - from);
    });
    const memory = shop.memory();
    const farm = await shop.endFarm();
    const took = spreadOf(tookMs);
    return {
      scene: `${count} devices connected${mqttUrl === undefined ? '' : ' through Mosquitto'}`,
      seconds: (performance.now() - startedAt) / 1000,
      figures: {
        connected: farm.connected,
        'connected after s': Math.round(shop.connectedAfterMs / 1000),
        'cut off': farm.lost,
        'memory MB': Math.round(memory),
        'CPU while idle %': Math.round(idlePercent),
        'payment p50 ms': took.p50,
        'payment p95 ms': took.p95,
      },
      checks: [
        { what: 'connected', value: farm.connected, exactly: count },
        { what: 'cut off', value: farm.lost, exactly: 0 },
        { what: 'approved', value: approved, exactly: pays },
        { what: 'charged twice', value: farm.twice, exactly: 0 },
        { what: 'payment p95 ms', value: took.p95, atMost: boundMs(isShort) },
      ],
    };
  } finally {
    await shop.stop();
  }
}

/** Many sockets that never finish their request, and reconnect when they are cut. */
export async function slowSockets({ isShort, say }: SceneOptions): Promise<SceneResult> {
  const count = isShort ? 500 : 10_000;
  const forMs = isShort ? 5_000 : 60_000;
  const startedAt = performance.now();
  const shop = await openLoadShop({ devices: 1, holdMs: 0, say });
  try {
    const till = tillOf(shop);
    const [DeviceID = ''] = shop.deviceIds;
    const call = () => till.get('/Device/Device/Status', { DeviceID });
    const before = startGoodCaller(call, 20, say);
    await pause(isShort ? 1_000 : 10_000);
    const alone = await before.stop();
    const { hostname, port } = new URL(shop.baseUrl);
    // 400 per address: below the bound, so that none displaces another.
    const attackers = startChild('slow-sockets.ts', [hostname, port, String(count), '400']);
    let seen = { open: 0, opened: 0, refused: 0 };
    let mostOpen = 0;
    attackers.stdout?.on('data', (chunk: Buffer) => {
      const line = chunk.toString('utf8').trim().split('\n').at(-1);
      seen = JSON.parse(line ?? '{}') as typeof seen;
      mostOpen = Math.max(mostOpen, seen.open);
      say(`${seen.open} open, ${seen.opened} opened so far`);
    });
    const caller = startGoodCaller(call, 20, say);
    await pause(forMs);
    const pressed = await caller.stop();
    const memory = shop.memory();
    attackers.kill('SIGKILL');
    return {
      scene: `${count} slow sockets`,
      seconds: (performance.now() - startedAt) / 1000,
      figures: {
        'most open': mostOpen,
        'opened in all': seen.opened,
        'good caller alone p95 ms': alone.p95,
        'good caller p50 ms': pressed.p50,
        'good caller p95 ms': pressed.p95,
        'good caller max ms': pressed.max,
        'memory MB': Math.round(memory),
      },
      checks: [
        // Those that the gateway has just cut are reconnecting.
        {
          what: 'sockets that were never open at once',
          value: Math.max(0, Math.round(count * (isShort ? 0.5 : 0.9)) - mostOpen),
          exactly: 0,
        },
        { what: 'calls of the good caller that failed', value: pressed.failures, exactly: 0 },
        { what: 'good caller p95 ms', value: pressed.p95, atMost: boundMs(isShort) },
      ],
    };
  } finally {
    await shop.stop();
  }
}
