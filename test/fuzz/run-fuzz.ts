// All kinds of fuzz in turns against one running gateway, with a good caller beside them. The same seed throws the same things.
import type { ForeignDevice, Wire } from '../conformance/foreign-device.ts';
import type { ForeignShop } from '../conformance/foreign-shop.ts';
import { createMessageFuzz } from './device-messages.ts';
import { type Bounds, type Watch, type Watched, watchGateway } from './fuzzed-gateway.ts';
import { createHttpFuzz, type Fuzz } from './http-calls.ts';
import { createHttpBytesFuzz, createMqttBytesFuzz, createSocketBytesFuzz } from './raw-bytes.ts';
import { createSizesFuzz } from './sizes.ts';

export interface FuzzRun {
  seed: number;
  /** Inputs in all. */
  count: number;
  bounds: Bounds;
  tell?: (progress: string) => void;
}

export type FuzzResult = Watched & { inputs: Record<string, number> };

const perRound = 50;
/** Slow ones come more seldom. */
const weights: Record<string, number> = { 'HTTP calls': 6, 'HTTP bytes': 3, 'MQTT messages': 5, 'queue messages': 5 };

export async function runFuzz(shop: ForeignShop, { seed, count, bounds, tell = () => {} }: FuzzRun): Promise<FuzzResult> {
  const kinds = await kindsFor(shop);
  const inputs = Object.fromEntries(Object.keys(kinds).map((name) => [name, 0]));
  let watch: Watch | undefined;
  let round = 0;
  let done = 0;
  while (done < count) {
    // Not from the beginning: code is loaded, caches are filled and the heap takes its size first.
    if (done >= Math.min(5_000, count / 4)) watch ??= await watchGateway(shop);
    for (const [name, fuzz] of Object.entries(kinds)) {
      const size = Math.min(Math.max(1, count - done), Math.ceil((perRound * (weights[name] ?? 1)) / 6));
      const roundSeed = seed * 100_003 + round;
      await fuzz(roundSeed, size).catch((error: unknown) => {
        throw new Error(`${name}, round seed ${roundSeed}, ${size} inputs: ${String(error)}`, { cause: error });
      });
      round += 1;
      done += size;
      inputs[name] = (inputs[name] ?? 0) + size;
    }
    tell(`${Math.min(done, count)} of ${count} inputs`);
  }
  return { inputs, ...(await (watch ?? (await watchGateway(shop))).end(bounds)) };
}

async function kindsFor(shop: ForeignShop): Promise<Record<string, Fuzz>> {
  const { hostname: _host, port: listening, pathname } = new URL(shop.till.baseUrl);
  const place = { port: Number(listening), basePath: pathname, apiKey: shop.apiKey };
  const onMqtt = await shop.live('terminal', 'mqtt');
  const onQueue = await shop.live('terminal', 'queue');
  const large = await shop.live('terminal', 'mqtt');
  const offline = await shop.register('register');
  const rude = await shop.register('terminal');
  const messages = async (device: ForeignDevice, wire: Wire, open: () => Promise<unknown>) =>
    createMessageFuzz(shop, device, wire, open, await replyToOf(shop, device));
  return {
    'HTTP calls': await createHttpFuzz(shop, [offline.deviceId, crypto.randomUUID()]),
    'HTTP bytes': createHttpBytesFuzz(place),
    'MQTT messages': await messages(onMqtt, 'mqtt', () => onMqtt.onMqtt()),
    'queue messages': await messages(onQueue, 'queue', () => onQueue.onQueue()),
    'MQTT bytes': createMqttBytesFuzz(Number(new URL(rude.mqttUrl).port), rude),
    'WebSocket bytes': createSocketBytesFuzz(place, `${rude.deviceId}:${rude.secret}`),
    sizes: createSizesFuzz(shop, large, await replyToOf(shop, large)),
  };
}

/** Where this gateway is answered: on every command. */
export async function replyToOf(shop: ForeignShop, device: ForeignDevice): Promise<string> {
  await shop.till.get('/Device/Device/Status', { DeviceID: device.deviceId });
  return String(device.heard[0]?.message['replyTo']);
}
