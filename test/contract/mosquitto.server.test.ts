// A real Mosquitto with the configuration that the project ships keeps the channel's contract.
import { readFileSync } from 'node:fs';
import { it } from 'vitest';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import { mosquittoAcl } from '../../src/link/broker-auth.ts';
import { MqttChannel } from '../../src/link/channels/mqtt/mqtt.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { startMosquitto } from '../support/servers/mosquitto.ts';
import { channelContract, deviceA, deviceB, gatewayId } from './channel.ts';
import { intrudeOverMqtt } from './mqtt-intruder.ts';
import { retainedCountsForNothing } from './retained.ts';
import { connectMqttDevice } from './test-device.ts';

/** The shipped file, with listener and password file of the test's own. */
function shippedConfig(): string {
  return readFileSync(new URL('../../deploy/mosquitto.conf', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => !/^(listener|persistence|password_file|log_dest)\b/.test(line))
    .join('\n')
    .replaceAll('/mosquitto/config', '{directory}');
}

channelContract(
  'MQTT over Mosquitto',
  async () => {
    const server = await startMosquitto({
      config: shippedConfig(),
      users: { 'gateway-a': 'gateway-secret', [deviceA.deviceId]: deviceA.secret, [deviceB.deviceId]: deviceB.secret },
      files: { acl: mosquittoAcl(['gateway-a']) },
    });
    return {
      createChannel: () =>
        new MqttChannel({
          url: server.url.replace('mqtt://', 'mqtt://gateway-a:gateway-secret@'),
          gatewayId,
          clock: systemClock,
          random: systemRandom,
          logger: quietLogger,
        }),
      connectDevice: (login) => connectMqttDevice(server.url, login),
      intrude: () => intrudeOverMqtt(server.url),
      secondConnection: 'replaces',
      hearsOfDeath: true,
      broker: server,
      stop: () => server.stop(),
    };
  },
  'outside',
);

it('what was left behind on a Mosquitto that keeps such messages counts for nothing', async () => {
  const server = await startMosquitto({
    config: shippedConfig().replace('retain_available false', 'retain_available true'),
    users: { 'gateway-a': 'gateway-secret', [deviceA.deviceId]: deviceA.secret },
    files: { acl: mosquittoAcl(['gateway-a']) },
  });
  await retainedCountsForNothing(server.url, server.url.replace('mqtt://', 'mqtt://gateway-a:gateway-secret@'));
  await server.stop();
});
