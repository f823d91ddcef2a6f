// Messages of a device that is logged in: answers and presence by chance from the AsyncAPI document, disturbed, and bytes that are nothing.
// The same on MQTT, on the built-in queue and on RabbitMQ. None of it ends the gateway, and a payment afterwards goes as always.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import type { ForeignDevice, Wire } from '../conformance/foreign-device.ts';
import type { ForeignShop } from '../conformance/foreign-shop.ts';
import { arbitraryOf, disturbed } from '../link/schema-arbitrary.ts';
import { eventually } from '../support/till.ts';
import type { Fuzz } from './http-calls.ts';

interface AsyncDocument {
  components: { schemas: Record<string, object>; messages: Record<string, { payload: object }> };
}

const document = JSON.parse(readFileSync(new URL('../../asyncapi/v1.json', import.meta.url), 'utf8')) as AsyncDocument;
const messages = Object.entries(document.components.messages)
  .filter(([name]) => /Answer$|^Presence$/.test(name))
  .map(([name, { payload }]) => ({ name, payload }));

function textsFor(deviceId: string): fc.Arbitrary<{ isPresence: boolean; text: Buffer }> {
  const byDocument = fc.oneof(
    ...messages.map(({ name, payload }) => {
      const right = arbitraryOf(document.components.schemas, payload) as fc.Arbitrary<Record<string, unknown>>;
      const own = right.map((message) => ({ ...message, device: deviceId }));
      const names = ['v', 'id', 'device', 'clock', 'outcome', 'report', 'journalId', 'bootId', 'online', 'totals'];
      return fc.oneof(own, disturbed(own, names)).map((message) => ({
        isPresence: name === 'Presence',
        text: Buffer.from(JSON.stringify(message)),
      }));
    }),
  );
  const bytes = fc.record({ isPresence: fc.boolean(), text: fc.uint8Array({ maxLength: 200 }).map((raw) => Buffer.from(raw)) });
  return fc.oneof({ weight: 8, arbitrary: byDocument }, { weight: 1, arbitrary: bytes });
}

/** `open` brings the device onto the wire, and again when the broker has ended the connection. */
export function createMessageFuzz(
  shop: ForeignShop,
  device: ForeignDevice,
  wire: Wire,
  open: () => Promise<unknown>,
  replyTo: string,
): Fuzz {
  const texts = textsFor(device.deviceId);
  return async (seed, count) => {
    for (const { isPresence, text } of fc.sample(texts, { seed, numRuns: count })) {
      const line = device.line(wire);
      const isGone = await Promise.race([line.ended.then(() => true), Promise.resolve(false)]);
      if (isGone) await open();
      // A library of the device's side may refuse to send it: nothing reached the gateway then.
      await Promise.resolve(isPresence ? device.line(wire).presence(text) : device.line(wire).answer(replyTo, text)).catch(() => {});
      // Until it is on its way, and the end of the connection would be heard.
      await nextTurn();
    }
    await goesOn(shop, device, wire, open);
  };
}

/** Its word about itself counts again, and what it says of a payment is told; refused, so that the next one is not kept waiting by an open document. */
async function goesOn(shop: ForeignShop, device: ForeignDevice, wire: Wire, open: () => Promise<unknown>): Promise<void> {
  await device
    .line(wire)
    .close()
    .catch(() => {});
  await open();
  const documentNr = randomUUID();
  const pay = () => shop.till.post('/Device/payment/Pay', { DeviceID: device.deviceId, amount: 1, documentNr });
  const answer = eventually('the device is heard again', pay, ({ errorCode }) => errorCode !== 30 && errorCode !== 31);
  answer.catch(() => {});
  const command = await device.next('Pay', wire).catch(async () => {
    throw new Error(`After the fuzz on ${wire} no Pay arrives: ${JSON.stringify(await pay())}`);
  });
  await device.say(command, 'refused');
  const { errorCode, errorMessage } = await answer;
  if (errorCode !== 50) throw new Error(`After the fuzz on ${wire} a Pay was answered ${errorCode} ${errorMessage}`);
}
