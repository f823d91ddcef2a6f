import mqtt from 'mqtt';
import { afterEach, describe, expect, it } from 'vitest';
import { type MosquittoOptions, type MosquittoServer, startMosquitto } from './mosquitto.ts';

describe('Mosquitto in tests', () => {
  let server: MosquittoServer | undefined;
  afterEach(async () => {
    await server?.stop();
    server = undefined;
  });

  async function start(options?: MosquittoOptions): Promise<MosquittoServer> {
    server = await startMosquitto(options);
    return server;
  }

  async function echo(url: string): Promise<string> {
    const client = await mqtt.connectAsync(url, { reconnectPeriod: 0 });
    try {
      await client.subscribeAsync('some/topic');
      const arrived = new Promise<string>((resolve) => {
        client.once('message', (_topic, payload) => resolve(payload.toString()));
      });
      await client.publishAsync('some/topic', 'hello');
      return await arrived;
    } finally {
      await client.endAsync(true);
    }
  }

  it('carries a message, also after kill -9 and a restart', async () => {
    const { url, kill9, restart } = await start();
    expect(await echo(url)).toBe('hello');
    await kill9();
    await expect(echo(url)).rejects.toThrow();
    await restart();
    expect(await echo(url)).toBe('hello');
  });

  it('takes users, files and a configuration', async () => {
    const { port } = await start({
      users: { alice: 'secret' },
      config: 'allow_anonymous false\nacl_file {directory}/acl',
      files: { acl: 'user alice\ntopic readwrite some/#\n' },
    });
    await expect(echo(`mqtt://127.0.0.1:${port}`)).rejects.toThrow(/not authorized/i);
    expect(await echo(`mqtt://alice:secret@127.0.0.1:${port}`)).toBe('hello');
  });
});
