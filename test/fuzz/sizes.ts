// What is large, deep or slow to read, from a caller with a key and from a device that is logged in: each is answered or dropped, and whoever
// is served beside it waits for no more than a bound.
import type { ForeignDevice } from '../conformance/foreign-device.ts';
import type { ForeignShop } from '../conformance/foreign-shop.ts';
import { fill, hostileBodies } from '../http/hostile-bodies.ts';
import { seededRandom } from '../support/seeded-random.ts';
import type { Fuzz } from './http-calls.ts';

const mebibyte = 1024 * 1024;

export function createSizesFuzz(shop: ForeignShop, device: ForeignDevice, replyTo: string): Fuzz {
  const { baseUrl } = shop.till;
  const login = { 'x-api-key': shop.apiKey };
  const post = (body: string | ReadableStream, more: object = {}) =>
    fetch(`${baseUrl}/Invoice/Create`, { method: 'POST', headers: { ...login, 'content-type': 'application/json' }, body, ...more });
  const attacks: (() => Promise<Response | void>)[] = [
    ...Object.values(hostileBodies).map((body) => () => post(body)),
    () => post(`{"Receipt":{"Items":[${fill('{"Name":"x","Quantity":1,"Price":1},', 200_000)}{"Name":"x","Quantity":1,"Price":1}]}}`),
    () => post(fill('x', 4 * mebibyte)),
    () => post(inSmallPieces(2_000), { duplex: 'half' }),
    () => fetch(`${baseUrl}/Invoice/Status?QR=${fill('A', 12_000)}`, { headers: login }),
    () => fetch(`${baseUrl}/Invoice/Status?${fill('a=1&', 12_000)}`, { headers: login }),
    () => fetch(`${baseUrl}/Invoice/Status`, { headers: { ...login, ...Object.fromEntries(manyNames(500)) } }),
    () => fetch(`${baseUrl}/${fill('a/', 8_000)}`, { headers: login }),
    ...Object.values(hostileBodies).map((body) => async () => {
      const answer = `{"v":1,"id":"${replyTo}","device":"${device.deviceId}","clock":"${device.clock()}","outcome":"done","report":${body}}`;
      await device.line('mqtt').answer(replyTo, answer);
    }),
    async () => {
      await device.line('mqtt').presence(device.presenceText({ firmware: fill('x', mebibyte - 1_000) }));
    },
  ];
  return async (seed, count) => {
    const random = seededRandom(seed);
    for (let done = 0; done < count; done += 1) {
      const answered = await attacks[Math.floor(random.fraction() * attacks.length)]?.();
      if (answered === undefined) continue;
      const text = await answered.text();
      const { errorCode } = JSON.parse(text) as { errorCode?: unknown };
      if (!Number.isInteger(errorCode) || errorCode === 1)
        throw new Error(`A large request was answered ${answered.status} ${text.slice(0, 200)}`);
    }
  };
}

const manyNames = (count: number) => Array.from({ length: count }, (_, n) => [`x-${n}`, 'y'] as const);

/** A body of one byte a chunk. */
function inSmallPieces(count: number): ReadableStream {
  let left = count;
  return new ReadableStream({
    pull(controller) {
      left -= 1;
      if (left < 0) controller.close();
      else controller.enqueue(Buffer.from('['));
    },
  });
}
