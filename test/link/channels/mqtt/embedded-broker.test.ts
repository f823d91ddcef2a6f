// The embedded broker: start and stop, clean-up, events, and the guarantees of a send.
import { connect } from 'node:net';
import { createSecureContext } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { maxMessageBytes, mqttTopics } from '../../../../src/link/protocol.ts';
import { command, gatewayId } from '../../../contract/channel.ts';
import { selfSigned } from '../../../http/self-signed.ts';
import { until } from '../../../support/until.ts';
import { type Bench, createBench, deviceId, FakeClient, other } from './fake-aedes.ts';

let at: Bench;
beforeEach(() => {
  at = createBench();
});
afterEach(() => {
  vi.restoreAllMocks();
});

const errorOf = (sent: Promise<void>) => sent.then(() => 'sent').catch(({ name }: Error) => name);

describe('the embedded broker', () => {
  it('sets the limits of aedes: time-outs for clients that do not read or log in, bounds for inbound messages and topics', async () => {
    await at.open();
    expect(at.broker.tellsAbsence).toBe(true);
    expect(at.rules).toMatchObject({
      id: gatewayId,
      drainTimeout: 5_000,
      connectTimeout: 10_000,
      maxInflightInbound: 8,
      maxTopicLevels: 8,
    });
    await at.broker.stop();
    await at.open({ limits: { loginWithinMs: 123 } });
    expect(at.rules).toMatchObject({ connectTimeout: 123 });
  });

  it('is up once it has started and down once it has stopped, with its ports closed', async () => {
    at.broker = at.make({ port: 0 });
    expect([at.broker.isConnected, at.broker.port]).toEqual([false, undefined]);
    await at.broker.start(at.listener);
    expect([at.broker.isConnected, at.broker.port, at.broker.securePort, at.told]).toEqual([
      true,
      expect.any(Number),
      undefined,
      [['up', 'mqtt']],
    ]);
    await at.broker.stop();
    expect([at.broker.isConnected, at.broker.port, at.aedes.closes]).toEqual([false, undefined, 1]);
    await at.broker.stop();
    expect(at.aedes.closes).toBe(1);
  });

  it('reports a connection closed for an oversized packet, with its device, and none after the stop', async () => {
    const context = () => createSecureContext(selfSigned);
    await at.open({ port: 0, secure: { port: 0, context } });
    expect(at.broker.securePort).toEqual(expect.any(Number));
    const tooLarge = async () => {
      const socket = connect(at.broker.port ?? 0, '127.0.0.1').on('error', () => {});
      const before = at.aedes.clients;
      await until(() => at.aedes.clients > before);
      const closed = new Promise((resolve) => socket.once('close', resolve));
      return async () => {
        socket.write(Buffer.from([0x10, 0x81, 0x80, 0x04]));
        await closed;
      };
    };
    const [device, stranger, late] = [await tooLarge(), await tooLarge(), await tooLarge()];
    await device();
    await stranger();
    expect(at.told).toEqual([
      ['dropped', 'mqtt', 'too-large', deviceId],
      ['dropped', 'mqtt', 'too-large', undefined],
    ]);
    let goOn = () => {};
    at.aedes.mayClose = new Promise((resolve) => {
      goOn = resolve;
    });
    const stopped = at.broker.stop();
    await late();
    goOn();
    await stopped;
    expect(at.told).toHaveLength(2);
  });

  it('waits ten seconds for the login of an unauthenticated client, and clears the timer when it logs in', async () => {
    await at.open({ port: 0 });
    const socket = connect(at.broker.port ?? 0, '127.0.0.1').on('error', () => {});
    await until(() => at.aedes.clients > 0);
    expect(at.clock.pending).toBe(1);
    const client = at.aedes.latest?.asClient();
    await new Promise((resolve) => at.rules.authenticate?.(client as never, deviceId, Buffer.from('right'), resolve));
    expect(at.clock.pending).toBe(0);
    socket.destroy();
    await at.broker.stop();
  });

  it('has no device after a restart', async () => {
    await at.open();
    const client = at.present();
    await at.broker.stop();
    await at.broker.start(at.listener);
    expect(await errorOf(at.broker.send(deviceId, command(), 1_000))).toBe('DeviceNotOnChannel');
    expect(client.published).toEqual([]);
  });

  it('closes connections unknown to aedes when it stops', async () => {
    await at.open({ port: 0 });
    const socket = connect(at.broker.port ?? 0, '127.0.0.1').on('error', () => {});
    await until(() => at.aedes.clients > 0);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    await at.broker.stop();
    await closed;
  });

  it('whose second port is taken closes the first, and was never up', async () => {
    await at.open({ port: 0 });
    const taken = at.broker.port ?? 0;
    const late = at.make({ port: 0, secure: { port: taken, context: () => ({}) as never } });
    await expect(late.start(at.listener)).rejects.toMatchObject({ code: 'EADDRINUSE' });
    expect([late.isConnected, late.port, late.securePort, at.aedes.closes, at.told]).toEqual([false, undefined, undefined, 1, []]);
    await at.broker.stop();
  });

  it('survives the errors that aedes reports, and truncates client ids in the log', async () => {
    await at.open();
    at.aedes.emit('error', new Error('odd'));
    at.aedes.emit('clientError', { id: 'x'.repeat(1_000) }, new Error('reset'));
    at.aedes.emit('connectionError', {}, new Error('never'));
    expect(at.logger.lines.map(({ level, fields }) => [level, fields])).toEqual([
      ['error', { err: new Error('odd') }],
      ['debug', { err: new Error('reset'), clientId: 'x'.repeat(64) }],
      ['debug', { err: new Error('never') }],
    ]);
  });

  it('reports the disconnect of a device, and nothing after the stop', async () => {
    await at.open();
    const client = at.present();
    at.aedes.emit('clientDisconnect', client);
    expect(at.told).toEqual([['gone', 'mqtt', deviceId]]);
    at.present();
    await at.broker.stop();
    // After the stop, neither a new client nor its duplicate is reported.
    at.aedes.emit('client', new FakeClient());
    at.aedes.emit('client', new FakeClient());
    expect(at.told).toHaveLength(1);
  });

  it('closes the connection of a device by its id, and ignores an unknown id', async () => {
    await at.open();
    const client = at.present();
    at.broker.disconnectDevice(other);
    expect(client.closes).toBe(0);
    at.broker.disconnectDevice(deviceId);
    expect(client.closes).toBe(1);
  });
});

describe('a send', () => {
  it('writes the command to the device at QoS 0, not retained, and resolves when it is written', async () => {
    await at.open();
    const client = at.present();
    const sent = command();
    let end = '';
    const ended = errorOf(at.broker.send(deviceId, sent, 1_000)).then((how) => (end = how));
    await at.clock.settle();
    expect(end).toBe('');
    expect(client.published[0]?.packet).toEqual({
      ...{ cmd: 'publish', topic: mqttTopics.commands(deviceId), payload: Buffer.from(JSON.stringify(sent)) },
      ...{ qos: 0, retain: false, dup: false },
    });
    client.published[0]?.done();
    expect(await ended).toBe('sent');
  });

  it('is unclear when the connection closed meanwhile', async () => {
    await at.open();
    const client = at.present();
    const ended = errorOf(at.broker.send(deviceId, command(), 1_000));
    client.closed = true;
    client.published[0]?.done();
    expect(await ended).toBe('SendUnclear');
  });

  it('fails for a device that is offline, closed or not subscribed', async () => {
    await at.open();
    expect(await errorOf(at.broker.send(deviceId, command(), 1_000))).toBe('DeviceNotOnChannel');
    const silent = new FakeClient();
    at.aedes.emit('client', silent);
    expect(await errorOf(at.broker.send(deviceId, command(), 1_000))).toBe('DeviceNotOnChannel');
    const closed = at.present();
    closed.closed = true;
    expect(await errorOf(at.broker.send(deviceId, command(), 1_000))).toBe('DeviceNotOnChannel');
    expect([...silent.published, ...closed.published]).toEqual([]);
  });

  it('fails for a device that does not read, which would get the command too late', async () => {
    await at.open();
    const client = at.present();
    client.conn.writableLength = 4 * maxMessageBytes + 1;
    expect(await errorOf(at.broker.send(deviceId, command(), 1_000))).toBe('DeviceNotOnChannel');
    expect(client.published).toEqual([]);
    client.conn.writableLength = 4 * maxMessageBytes;
    const ended = errorOf(at.broker.send(deviceId, command(), 1_000));
    client.published[0]?.done();
    expect(await ended).toBe('sent');
  });

  it('fails before the start and after the stop', async () => {
    at.broker = at.make();
    expect(await errorOf(at.broker.send(deviceId, command(), 1_000))).toBe('ChannelDown');
    await at.broker.start(at.listener);
    at.present();
    await at.broker.stop();
    expect(await errorOf(at.broker.send(deviceId, command(), 1_000))).toBe('ChannelDown');
  });
});
