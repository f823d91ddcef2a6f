// What a login costs at RabbitMQ with the shipped configuration [D200]: every login is a question to the gateway, so that an old secret ends at
// once; what a device may use is asked once.
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import { RabbitmqChannel } from '../../src/link/channels/queue/rabbitmq.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import type { AskedRabbitmq } from './asked-rabbitmq.ts';
import { deviceA, gatewayId } from './channel.ts';
import { createRecorder } from './recorder.ts';
import { connectAmqpDevice, connectMqttDevice, type TestDevice } from './test-device.ts';

const times = (count: number, question: string) => Array.from({ length: count }, () => question);

/** `running`: one that no device has logged in at yet. */
export function loginsContract(running: () => AskedRabbitmq): void {
  let channel: RabbitmqChannel;
  beforeAll(async () => {
    channel = new RabbitmqChannel({ url: running().url, gatewayId, clock: systemClock, random: systemRandom, logger: quietLogger });
    const recorder = createRecorder();
    // Declares the exchange that devices write to.
    await channel.start(recorder);
    await recorder.until(({ what }) => what === 'up', 'up');
  });
  afterAll(() => channel?.stop());

  const connect: Record<'amqp' | 'mqtt', (secret?: string) => Promise<TestDevice>> = {
    amqp: (secret = deviceA.secret) => connectAmqpDevice(`127.0.0.1:${running().port}`, { ...deviceA, secret }),
    mqtt: (secret = deviceA.secret) => connectMqttDevice(`mqtt://127.0.0.1:${running().mqttPort}`, { ...deviceA, secret }),
  };

  /** Questions of a login, a subscription to the commands and a presence. */
  async function questionsOf(how: 'amqp' | 'mqtt'): Promise<string[]> {
    const before = running().asked.length;
    const device = await connect[how]();
    const clock = new Date().toISOString();
    device.presence({ v: 1, device: deviceA.deviceId, online: true, clock, bootId: 'b', journalId: 'j', kind: 'terminal' });
    // Nothing announces that a broker has asked its last question.
    let count = -1;
    while (count !== running().asked.length) {
      count = running().asked.length;
      await pause(500);
    }
    await device.close();
    return running()
      .asked.slice(before)
      .map(({ path, decision }) => `${path} ${decision}`);
  }

  it.each([
    ['mqtt', [...times(5, 'resource allow'), ...times(2, 'topic allow'), ...times(2, 'user allow'), 'vhost allow']],
    ['amqp', [...times(3, 'resource allow'), 'topic allow', ...times(2, 'user allow'), 'vhost allow']],
  ] as const)('a first login by %s asks about everything, the next one about the secret alone', async (how, first) => {
    const asked = await questionsOf(how);
    expect(asked.length).toBeLessThanOrEqual(first.length);
    expect(new Set(asked)).toEqual(new Set(first));
    for (let again = 0; again < 3; again += 1) expect(await questionsOf(how)).toEqual(['user allow']);
  });

  it.each(['mqtt', 'amqp'] as const)('a secret that is no longer good is refused at once by %s', async (how) => {
    const device = await connect[how]();
    await device.close();
    running().replaceSecret(deviceA.deviceId, 'a-new-secret');
    try {
      await expect(connect[how]()).rejects.toThrow();
      await (await connect[how]('a-new-secret')).close();
    } finally {
      running().replaceSecret(deviceA.deviceId, deviceA.secret);
    }
  });
}
