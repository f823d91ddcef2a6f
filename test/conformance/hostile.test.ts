// What the gateway refuses: wrong logins, foreign addresses, answers for others, garbage, and reports made to break it. Nothing of it ends the process.
import { randomUUID } from 'node:crypto';
import { connect as connectTcp } from 'node:net';
import { connectAsync, type IClientOptions } from 'mqtt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { eventually, reportOf } from '../support/till.ts';
import { createForeignDevice, type Fields, type ForeignDevice } from './foreign-device.ts';
import { type ForeignShop, openForeignShop } from './foreign-shop.ts';

let shop: ForeignShop;
beforeAll(async () => {
  shop = await openForeignShop();
});
afterAll(() => shop?.close());

const dropped = (reason: string) => shop.metric(new RegExp(`^tillgate_link_dropped_messages_total\\{reason="${reason}"\\} (\\d+)`, 'm'));
const droppedOneMore = async (reason: string, before: number) =>
  eventually(
    `one more ${reason} is counted`,
    () => dropped(reason),
    (count) => count === before + 1,
  );

function loginOf({ deviceId, secret }: ForeignDevice, more: IClientOptions = {}): IClientOptions {
  return {
    protocolVersion: 4,
    clientId: deviceId,
    username: deviceId,
    password: secret,
    reconnectPeriod: 0,
    connectTimeout: 3_000,
    ...more,
  };
}

async function pay(device: ForeignDevice, amount = 1, documentNr = randomUUID()) {
  const answer = shop.till.post('/Device/payment/Pay', { DeviceID: device.deviceId, amount, documentNr });
  const command = await device.next('Pay');
  await device.say(command, 'accepted');
  return { answer, command, documentNr };
}

const approval = (amount = 1) => ({ rrn: '1', authCode: '2', operationId: randomUUID().slice(0, 8), amount });

describe('who is let in', () => {
  it('no client with a wrong secret, a foreign client id or none at all, on either wire', async () => {
    const device = await shop.register('terminal');
    const other = await shop.register('terminal');
    const wrong: IClientOptions[] = [
      loginOf(device, { password: 'wrong' }),
      loginOf(device, { password: other.secret }),
      loginOf(device, { clientId: other.deviceId }),
      loginOf(device, { clientId: 'anything' }),
      loginOf(device, { username: 'admin' }),
      { protocolVersion: 4, reconnectPeriod: 0, connectTimeout: 3_000 },
    ];
    for (const login of wrong) await expect(connectAsync(device.mqttUrl, login), JSON.stringify(login)).rejects.toThrow();
    const status = (headers: Record<string, string>) =>
      new Promise((resolve) => {
        const socket = new WebSocket(device.queueUrl, { headers });
        socket.on('unexpected-response', (_request, response) => {
          resolve(response.statusCode);
          response.resume();
        });
        socket.on('open', () => resolve('open'));
        socket.on('error', () => {});
      });
    const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });
    expect(await status({})).toBe(401);
    expect(await status(basic(`${device.deviceId}:wrong`))).toBe(401);
    expect(await status(basic(`${device.deviceId}:${other.secret}`))).toBe(401);
    expect(await status(basic('nobody'))).toBe(401);
    expect(await status(basic(`${device.deviceId}:${device.secret}`))).toBe('open');
  });

  it('no foreign topic can be read or written, and trying ends the connection', async () => {
    const victim = await shop.live('terminal', 'mqtt');
    const { answer, command } = await pay(victim);
    const { replyTo, id } = command.message;
    const intruder = await shop.register('terminal');
    const overheard: string[] = [];
    for (const topic of [`tillgate/devices/${victim.deviceId}/commands`, 'tillgate/devices/+/commands', '#', 'tillgate/#', '$SYS/#']) {
      const client = await connectAsync(intruder.mqttUrl, loginOf(intruder));
      client.on('message', (heardOn) => overheard.push(heardOn));
      const outcome = await client.subscribeAsync(topic).then(
        (granted) => granted.every(({ qos }) => qos < 128),
        () => false,
      );
      expect(outcome, `subscribe ${topic}`).toBe(false);
      await client.endAsync(true);
    }
    const forged = JSON.stringify({ v: 1, id, device: victim.deviceId, clock: victim.clock(), outcome: 'done', report: approval() });
    const ownName = JSON.stringify({ ...JSON.parse(forged), device: intruder.deviceId });
    for (const [topic, text] of [
      [`tillgate/devices/${victim.deviceId}/answers/${replyTo}`, forged],
      [`tillgate/devices/${victim.deviceId}/presence`, '{"online":false}'],
      [`tillgate/devices/${intruder.deviceId}/commands`, '{}'],
      [`tillgate/devices/${intruder.deviceId}/answers/${replyTo}/more`, ownName],
      ['tillgate/devices', forged],
    ] as const) {
      const client = await connectAsync(intruder.mqttUrl, loginOf(intruder));
      const ended = new Promise<void>((resolve) => client.once('close', () => resolve()));
      client.on('error', () => {});
      client.publish(topic, text, { qos: 1 });
      await ended;
    }
    // Its own topic, the victim's command: dropped and counted.
    const before = await dropped('foreign-device');
    const line = await intruder.onMqtt();
    await line.answer(replyTo, forged);
    await droppedOneMore('foreign-device', before);
    await line.answer(replyTo, ownName);
    await droppedOneMore('foreign-device', before + 1);
    await victim.say(command, 'refused', { reason: 'No.' });
    expect(await answer).toMatchObject({ errorCode: 50 });
    expect(overheard).toEqual([]);
    await Promise.all([victim.leave(), intruder.leave()]);
  });

  it('a disabled device is cut off at once, answers 30 and gets in again when enabled', async () => {
    const device = await shop.live('terminal', 'both');
    const ends = [device.line('mqtt').ended, device.line('queue').ended];
    expect(await shop.till.admin(`/devices/${device.deviceId}/disable`, {})).toMatchObject({ errorCode: 0 });
    await Promise.all(ends);
    expect(await shop.till.post('/Device/payment/closeDay', { DeviceID: device.deviceId })).toMatchObject({ errorCode: 30 });
    await expect(device.onMqtt()).rejects.toThrow();
    await expect(device.onQueue()).rejects.toThrow('401');
    await shop.till.admin(`/devices/${device.deviceId}/enable`, {});
    await device.onMqtt();
    expect(await shop.till.get('/Device/Device/Status', { DeviceID: device.deviceId })).toMatchObject({ errorCode: 0 });
    await device.leave();
  });

  it('a new secret ends the connections of the old one', async () => {
    const device = await shop.live('terminal', 'both');
    const ends = [device.line('mqtt').ended, device.line('queue').ended];
    const { secret } = await shop.till.admin(`/devices/${device.deviceId}/secret`, {});
    await Promise.all(ends);
    await expect(device.onMqtt()).rejects.toThrow();
    const renewed = createForeignDevice({ ...device, secret: String(secret) });
    await renewed.onMqtt();
    await renewed.onQueue();
    await renewed.leave();
  });

  it('a second socket replaces the first, and a second MQTT connection too', async () => {
    const device = await shop.live('terminal', 'both');
    const ends = [device.line('mqtt').ended, device.line('queue').ended];
    await device.onMqtt();
    await device.onQueue();
    await Promise.all(ends);
    const { answer, command } = await pay(device);
    await device.say(command, 'refused');
    expect(await answer).toMatchObject({ errorCode: 50 });
    await device.leave();
  });
});

describe('garbage', () => {
  it.each(['mqtt', 'queue'] as const)('on %s is dropped and counted, and the command goes on', async (wire) => {
    const device = await shop.live('terminal', wire);
    const { answer, command } = await pay(device);
    const { replyTo, id } = command.message;
    const right = { v: 1, id, device: device.deviceId, clock: device.clock(), outcome: 'done', report: approval() };
    const bad: [string, string, string?][] = [
      ['not-json', wire === 'mqtt' ? 'hello' : '{'],
      wire === 'mqtt' ? ['not-json', '[]'] : ['field', '[]', 'answer'],
      ['version', JSON.stringify({ ...right, v: 2 }), 'v'],
      ['version', JSON.stringify({ ...right, v: '1' }), 'v'],
      ['field', JSON.stringify({ ...right, outcome: 'maybe' }), 'outcome'],
      ['field', JSON.stringify({ ...right, id: 'x' }), 'id'],
      ['field', JSON.stringify({ ...right, clock: undefined }), 'clock'],
      ['field', JSON.stringify({ ...right, report: 'text' }), 'report'],
      ['field', JSON.stringify({ ...right, journalId: 'x' }), 'journalId'],
      ['foreign-device', JSON.stringify({ ...right, device: randomUUID() }), 'device'],
    ];
    for (const [reason, text, field] of bad) {
      const before = await dropped(reason);
      await device.line(wire).answer(replyTo, text);
      await droppedOneMore(reason, before);
      const { dropped: notes } = await shop.till.admin(`/devices/${device.deviceId}/messages`);
      expect((notes as Fields[])[0]).toMatchObject({ channel: wire, reason, why: expect.any(String), ...(field && { field }) });
    }
    await device.say(command, 'refused', { unknownField: { ignored: true } });
    expect(await answer).toMatchObject({ errorCode: 50 });
    await device.leave();
  });

  it('by a topic that is not its own, or to a gateway that is none, is counted for the device that sent it', async () => {
    const device = await shop.live('terminal', 'mqtt');
    const messages = async () => (await shop.till.admin(`/devices/${device.deviceId}/messages`))['dropped'] as Fields[];
    await device.line('mqtt').answer('nobody-by-this-name', '{}');
    await eventually('the address is named', messages, (notes) => notes[0]?.['field'] === 'answers/nobody-by-this-name');
    const client = await connectAsync(device.mqttUrl, loginOf(device));
    const ended = new Promise<void>((resolve) => client.once('close', () => resolve()));
    client.publish(`tillgate/devices/${randomUUID()}/presence`, '{}');
    await ended;
    expect((await messages())[0]).toMatchObject({
      reason: 'unknown-address',
      field: 'topic',
      why: expect.stringContaining('not the device'),
    });
    await client.endAsync(true);
  });

  it('over 1 MiB is dropped and counted; 1 MiB is not', async () => {
    const device = await shop.live('terminal', 'both');
    for (const wire of ['mqtt', 'queue'] as const) {
      if (wire === 'queue') device.line('mqtt').die();
      const { answer, command } = await pay(device);
      const text = (size: number) => {
        const empty = JSON.stringify({
          v: 1,
          id: command.message['id'],
          device: device.deviceId,
          clock: device.clock(),
          // Only the journal that got the command can say that it was refused [D304].
          journalId: JSON.parse(device.presenceText()).journalId,
          outcome: 'refused',
          report: { pad: '' },
        });
        return empty.replace('"pad":""', `"pad":"${'x'.repeat(size - empty.length)}"`);
      };
      const before = await dropped('too-large');
      await device.line(command.wire).answer(command.message['replyTo'], text(1024 * 1024 + 1));
      await droppedOneMore('too-large', before);
      await device.line(command.wire).answer(command.message['replyTo'], text(1024 * 1024));
      const refused = await answer;
      expect(refused.errorCode, `${wire} ${refused.errorMessage}`).toBe(50);
      // Read whole, and cut where it is stored [D286].
      expect(reportOf(refused)['pad']).toMatch(/^x{999,1000}/);
    }
    await device.leave();
  });

  it('a packet far over every limit ends its connection instead of filling the memory, before a login too', async () => {
    const device = await shop.live('terminal', 'mqtt');
    const { port } = new URL(device.mqttUrl);
    const socket = connectTcp(Number(port), '127.0.0.1');
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => {});
    // CONNECT with a remaining length of 256 MiB.
    socket.write(Buffer.from([0x10, 0xff, 0xff, 0xff, 0x7f]));
    const chunk = Buffer.alloc(64 * 1024, 0x20);
    let sent = 0;
    const pump = () => {
      while (!socket.destroyed && sent < 32 * 1024 * 1024) {
        sent += chunk.length;
        if (!socket.write(chunk)) return void socket.once('drain', pump);
      }
    };
    pump();
    await closed;
    expect(sent).toBeLessThan(32 * 1024 * 1024);
    expect(await shop.till.get('/Device/Device/Status', { DeviceID: device.deviceId })).toMatchObject({ errorCode: 0 });
    await device.leave();
  });
});

describe('reports', () => {
  it('pass as they came: unknown fields, nesting, large numbers; card numbers are masked', async () => {
    const device = await shop.live('terminal', 'mqtt');
    const { answer, command } = await pay(device, 150.5);
    const report =
      '{"rrn":"4111111111111111","authCode":"000001","operationId":"5500000000000004","amount":150.50,"fiscalNumber":90071992547409931,' +
      '"card":"4111 1111 1111 1111","pan":4111111111111111,"list":[{"note":"paid by 5500-0000-0000-0004."}],"total":123456789012345678901,"nothing":null,"__proto__":{"a":1}}';
    const text = `{"v":1,"id":"${command.message['id']}","device":"${device.deviceId}","clock":"${device.clock()}","outcome":"done","report":${report}}`;
    await device.line('mqtt').answer(command.message['replyTo'], text);
    const shown = String((await answer).report);
    expect(shown).toContain('"rrn":"4111111111111111"');
    expect(shown).toContain('"operationId":"5500000000000004"');
    expect(shown).toContain('"card":"4111 11** **** 1111"');
    expect(shown).toContain('"pan":"411111******1111"');
    expect(shown).toContain('"note":"paid by 5500-00**-****-0004."');
    expect(shown).toContain('"nothing":null');
    expect(shown).toContain('"__proto__":{"a":1}');
    expect(shown).toContain('"fiscalNumber":90071992547409931');
    expect(shown).toContain('"total":123456789012345678901');
    await device.leave();
  });

  it('and reasons hide card numbers, of LastTransaction too, which is 50 only when it was refused', async () => {
    const device = await shop.live('terminal', 'mqtt');
    const ask = () => shop.till.get('/Device/payment/LastTransaction', { DeviceID: device.deviceId });
    const refused = ask();
    await device.say(await device.next('LastTransaction'), 'refused', { reason: 'Card 4111111111111111 is in the slot.' });
    expect(await refused).toMatchObject({ errorCode: 50, errorMessage: expect.stringContaining('Card 411111******1111') });
    const expired = ask();
    await device.say(await device.next('LastTransaction'), 'expired');
    expect(await expired).toMatchObject({ errorCode: 3 });
    await device.leave();
  });

  it('nested beyond reason do not end the gateway', async () => {
    const device = await shop.live('terminal', 'both', { isMute: true });
    const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
    for (const wire of ['mqtt', 'queue'] as const) {
      const asking = shop.till.get('/Device/Device/Status', { DeviceID: device.deviceId });
      const asked = await device.next('Status');
      const head = `{"v":1,"id":"${asked.message['id']}","device":"${device.deviceId}","clock":"${device.clock()}","outcome":"done"`;
      await device.line(wire).answer(asked.message['replyTo'], `${head},"report":${deep(100_000)}}`);
      await device.line(wire).answer(asked.message['replyTo'], `${head},"report":{"online":true}}`);
      expect(await asking).toMatchObject({ errorCode: 0, report: '{"online":true}' });
    }
    // What a device last said is written down within five seconds of a new journal: that must not hurt the gateway either.
    const asking = shop.till.get('/Device/Device/Status', { DeviceID: device.deviceId });
    const asked = await device.next('Status');
    await device
      .line('mqtt')
      .answer(
        asked.message['replyTo'],
        `{"v":1,"id":"${asked.message['id']}","device":"${device.deviceId}","clock":"${device.clock()}","journalId":"${randomUUID()}","outcome":"done","report":${deep(100_000)}}`,
      );
    await device.say(asked, 'refused');
    expect(await asking).toMatchObject({ errorCode: 50 });
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    expect(await (await fetch(`${shop.till.baseUrl}/health/live`)).json()).toMatchObject({ errorCode: 0 });
    await device.leave();
  });

  it('with texts that no database holds still settle the payment, or a person is asked', async () => {
    const device = await shop.live('terminal', 'mqtt');
    const refusal = await pay(device);
    await device.say(refusal.command, 'refused', { reason: 'No\u0000 card \ud800 4111111111111111', report: { note: 'a\u0000b' } });
    const refused = await refusal.answer;
    expect(refused).toMatchObject({ errorCode: 50 });
    expect(refused.errorMessage).toContain('card');
    expect(refused.errorMessage).not.toMatch(/\u0000|4111111111111111/);

    await device.leave();

    for (const odd of ['op\u0000', 'x'.repeat(5_000)]) {
      // A terminal of its own each: a person may decide only when this one can no longer act [D63].
      const terminal = await shop.live('terminal', 'mqtt');
      const { answer, command } = await pay(terminal, 2);
      await terminal.say(command, 'done', { report: { ...approval(2), operationId: odd } });
      expect(await answer).toMatchObject({ errorCode: 3 });
      const listed = (await shop.review()).find(({ id }) => id === command.message['id']) as Fields;
      expect(listed['reviewReason']).toContain('operationId');
      await terminal.leave();
    }
  });
});
