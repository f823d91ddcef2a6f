// What every connector must do, whatever the wire: one suite, run against each server's own side of it.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock, systemRandom } from '../../../src/kernel/system.ts';
import type { AnswerMessage, PresenceMessage } from '../../../src/link/wire-schemas.ts';
import type { Connector, ConnectorOptions } from '../../../src/virtual/client/connector.ts';
import { type RecordingLogger, recordingLogger } from '../../support/quiet-logger.ts';
import { until } from '../../support/until.ts';

export const contractDevice = { deviceId: '22222222-2222-4222-8222-222222222222', secret: 'hush hush/1' };

/** The gateway's end: it only looks at the wire. */
export interface GatewaySide {
  url: string;
  answers: { replyTo: string | undefined; answer: AnswerMessage }[];
  presences: PresenceMessage[];
  send(bytes: Buffer): Promise<void>;
  /** Breaks the device's connection from outside. */
  cut(): Promise<void>;
  /** Whether a device that goes politely, or by a cut, is told of by this wire itself. */
  saysGoodbye: boolean;
  stop(): Promise<void>;
}

function answer(id: string): AnswerMessage {
  return { v: 1, id, device: contractDevice.deviceId, clock: new Date().toISOString(), outcome: 'done', report: { text: 'ăîș' } };
}

function presence(): PresenceMessage {
  return { v: 1, device: contractDevice.deviceId, online: true };
}

export function connectorContract(openGateway: () => Promise<GatewaySide>, create: (options: ConnectorOptions) => Connector): void {
  let gateway: GatewaySide;
  let connector: Connector;
  let commands: string[];
  let connections: number;
  let losses: number;
  let logger: RecordingLogger;

  function start(secret = contractDevice.secret): void {
    connector = create({ ...contractDevice, secret, url: gateway.url, clock: systemClock, random: systemRandom, logger });
    connector.start({
      connected: () => {
        connections += 1;
      },
      disconnected: () => {
        losses += 1;
      },
      command: (bytes) => commands.push(Buffer.from(bytes).toString()),
    });
  }

  beforeEach(async () => {
    gateway = await openGateway();
    commands = [];
    connections = 0;
    losses = 0;
    logger = recordingLogger();
  }, 120_000);

  afterEach(async () => {
    await connector.stop();
    await gateway.stop();
  });

  it('carries commands in, answers and presence out', async () => {
    start();
    expect(connector.sendAnswer(answer('too early'), 'g-1')).toBe(false);
    await until(() => connector.isConnected);
    await gateway.send(Buffer.from('{"v":1,"id":"1"}'));
    await until(() => commands.length === 1);
    expect(JSON.parse(commands[0] ?? '')).toEqual({ v: 1, id: '1' });
    expect(connector.sendPresence(presence())).toBe(true);
    const sent = answer('1');
    expect(connector.sendAnswer(sent, 'g-1')).toBe(true);
    await until(() => gateway.answers.length === 1 && gateway.presences.length === 1);
    expect(gateway.answers[0]?.answer).toEqual(sent);
    expect(gateway.answers[0]?.replyTo ?? 'g-1').toBe('g-1');
    expect(gateway.presences[0]).toEqual(presence());
  });

  it('connects again by itself, and sends nothing of before', async () => {
    start();
    await until(() => connector.isConnected);
    await gateway.cut();
    await until(() => losses === 1);
    await until(() => connections === 2);
    await gateway.send(Buffer.from('{"v":1,"id":"2"}'));
    await until(() => commands.length === 1);
    connector.sendAnswer(answer('2'), 'g-1');
    await until(() => gateway.answers.length === 1);
    expect(gateway.answers[0]?.answer.id).toBe('2');
  });

  it('goes on trying when its secret is refused, without a connection', async () => {
    start('wrong');
    await until(() => logger.lines.filter((line) => line.message === 'the virtual device could not connect').length >= 2);
    expect([connections, connector.isConnected]).toEqual([0, false]);
  });

  it('can be dropped and started again', async () => {
    start();
    await until(() => connector.isConnected);
    connector.drop();
    expect(connector.isConnected).toBe(false);
    if (gateway.saysGoodbye) await until(() => gateway.presences.some((seen) => !seen.online));
    start();
    await until(() => connections === 2);
    await gateway.send(Buffer.from('{"v":1,"id":"3"}'));
    await until(() => commands.length === 1);
  });
}
