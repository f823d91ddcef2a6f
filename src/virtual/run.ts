// Starts a virtual device with the real protocol: files in its state directory, connectors for the given addresses.
// Used by the sandbox in process and by `tillgate simulate`.
import { join } from 'node:path';
import type { Connector } from './client/connector.ts';
import { createFileStore } from './client/record-store.ts';
import { createVirtualDevice, type VirtualDevice, type VirtualDeviceDeps } from './devices/virtual-device.ts';
import { collectPaper } from './paper/paper-tray.ts';
import { createMqttConnector } from './wire/mqtt.ts';
import { createAmqpConnector } from './wire/rabbitmq.ts';
import { createWebSocketConnector } from './wire/websocket.ts';

export interface RunOptions
  extends Pick<VirtualDeviceDeps, 'kind' | 'deviceId' | 'name' | 'clock' | 'random' | 'logger' | 'faults' | 'timing' | 'hasMagic' | 'vat'>,
    Pick<VirtualDeviceDeps, 'restartAfterMs' | 'limitShiftTo24h' | 'watch' | 'presenceEveryMs'> {
  secret: string;
  bank?: string | undefined;
  /** mqtt:// or mqtts:// */
  mqttUrl?: string | undefined;
  /** ws:// or wss:// for the built-in queue, amqp:// or amqps:// for RabbitMQ. */
  queueUrl?: string | undefined;
  /** This device's own directory. */
  stateDir: string;
  /** Gets one line of text for each display, and for each line of a printout. */
  log?: ((line: string) => void) | undefined;
}

export async function startVirtualDevice(options: RunOptions): Promise<VirtualDevice> {
  const { secret, bank = 'Virtual Bank', mqttUrl, queueUrl, stateDir, log, ...rest } = options;
  const { deviceId, clock, random, logger } = rest;
  const wire = { deviceId, secret, clock, random, logger };
  const connectors: Connector[] = [];
  if (mqttUrl !== undefined) connectors.push(createMqttConnector({ ...wire, url: mqttUrl }));
  if (queueUrl !== undefined) {
    const create = /^amqps?:/i.test(queueUrl) ? createAmqpConnector : createWebSocketConnector;
    connectors.push(create({ ...wire, url: queueUrl }));
  }
  const device = await createVirtualDevice({
    ...rest,
    bank,
    connectors,
    stores: {
      journal: createFileStore(join(stateDir, 'journal.jsonl')),
      bank: createFileStore(join(stateDir, 'bank.jsonl')),
      fiscal: createFileStore(join(stateDir, 'fiscal-memory.jsonl')),
    },
  });
  collectPaper(device.screen, join(stateDir, 'paper'), logger, (path) => log?.(`Picture: ${path}`));
  if (log) {
    device.screen.listen((event) => {
      if (event.type === 'power') log(event.isOn ? 'power on' : 'power lost');
      else if (event.type === 'display') log(event.text);
      // The margin tells paper, whose texts others wrote, from what the device says.
      else for (const line of event.text.split('\n')) log(`  | ${line}`);
    });
  }
  return device;
}
