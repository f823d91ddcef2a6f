// Starts a virtual device with the real protocol: files in its state directory, connectors for the given addresses.
// Used by the sandbox in process and by `tillgate simulate`.
import { join } from 'node:path';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Random } from '../kernel/random.ts';
import type { DeviceKind } from '../link/protocol.ts';
import type { Connector } from './client/connector.ts';
import { createFileStore } from './client/record-store.ts';
import { createVirtualDevice, type VirtualDevice, type VirtualDeviceDeps } from './devices/virtual-device.ts';
import type { Faults } from './mishaps/faults.ts';
import { collectPaper } from './paper/paper-tray.ts';
import { createMqttConnector } from './wire/mqtt.ts';
import { createAmqpConnector } from './wire/rabbitmq.ts';
import { createWebSocketConnector } from './wire/websocket.ts';

export interface RunOptions
  extends Pick<VirtualDeviceDeps, 'timing' | 'hasMagic' | 'restartAfterMs' | 'vat' | 'limitShiftTo24h' | 'watch' | 'presenceEveryMs'> {
  kind: DeviceKind;
  deviceId: string;
  secret: string;
  name: string;
  bank?: string | undefined;
  /** mqtt:// or mqtts:// */
  mqttUrl?: string | undefined;
  /** ws:// or wss:// for the built-in queue, amqp:// or amqps:// for RabbitMQ. */
  queueUrl?: string | undefined;
  /** This device's own directory. */
  stateDir: string;
  clock: Clock;
  random: Random;
  logger: Logger;
  noJournal?: boolean | undefined;
  faults?: Partial<Faults> | undefined;
  /** Gets one line of text for each display and printout. */
  log?: ((line: string) => void) | undefined;
}

export async function startVirtualDevice(options: RunOptions): Promise<VirtualDevice> {
  const { kind, deviceId, secret, name, bank, mqttUrl, queueUrl, stateDir, clock, random, logger, noJournal, faults, log, ...rest } =
    options;
  const wire = { deviceId, secret, clock, random, logger };
  const connectors: Connector[] = [];
  if (mqttUrl !== undefined) connectors.push(createMqttConnector({ ...wire, url: mqttUrl }));
  if (queueUrl !== undefined) {
    const create = /^amqps?:/i.test(queueUrl) ? createAmqpConnector : createWebSocketConnector;
    connectors.push(create({ ...wire, url: queueUrl }));
  }
  const device = await createVirtualDevice({
    ...rest,
    kind,
    deviceId,
    name,
    bank: bank ?? 'Virtual Bank',
    connectors,
    stores: {
      journal: createFileStore(join(stateDir, 'journal.jsonl')),
      bank: createFileStore(join(stateDir, 'bank.jsonl')),
      fiscal: createFileStore(join(stateDir, 'fiscal-memory.jsonl')),
    },
    clock,
    random,
    logger,
    faults: { ...faults, ...(noJournal === undefined ? {} : { noJournal }) },
  });
  collectPaper(device.screen, join(stateDir, 'paper'), logger, (path) => log?.(`Picture: ${path}`));
  if (log) {
    device.screen.listen((event) => {
      if (event.type === 'display') log(event.text);
      else if (event.type === 'paper') log(event.text);
      else log(event.isOn ? 'power on' : 'power lost');
    });
  }
  return device;
}
