// The raw limits: what the parts below a gateway can do here, with nothing of ours in between. A gateway cannot be faster than these.
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { connect as connectAmqp } from 'amqplib';
import { connectAsync as connectMqtt } from 'mqtt';
import { Pool } from 'pg';
import { createDatabase, startLightDevices, startScript } from './contenders.ts';
import { openConnection } from './http-client.ts';
import { type Measured, runLoad } from './load.ts';
import type { Round } from './works.ts';

export interface RawLimit {
  run(round: Round): Promise<Measured>;
  stop(): Promise<void>;
}

/** Request and answer through a broker with the light devices at the other end, and nothing written down. */
export async function mqttRoundTrips(mqttUrl: string): Promise<RawLimit> {
  const devices = Array.from({ length: 64 }, () => ({ id: randomUUID(), secret: '' }));
  const light = await startLightDevices({ speak: 'nest', url: mqttUrl, devices });
  const client = await connectMqtt(mqttUrl, { protocolVersion: 4 });
  const waiting = new Map<string, () => void>();
  client.on('message', (_topic, payload) => settle(waiting, payload));
  await client.subscribeAsync(devices.map(({ id }) => `device.${id}/reply`));
  return {
    run: (round) =>
      runLoad({
        ...round,
        step: async (lane, timed) => {
          await timed(() => ask(waiting, (text) => client.publish(`device.${devices[lane % 64]?.id}`, text)));
        },
      }),
    async stop() {
      light.kill('SIGKILL');
      await client.endAsync(true);
    },
  };
}

export async function queueRoundTrips(rabbitmqUrl: string): Promise<RawLimit> {
  const light = await startLightDevices({ speak: 'nest', url: rabbitmqUrl, devices: [] });
  const connection = await connectAmqp(rabbitmqUrl, { noDelay: true });
  const channel = await connection.createChannel();
  const waiting = new Map<string, () => void>();
  const replyTo = 'amq.rabbitmq.reply-to';
  await channel.consume(replyTo, (message) => message && settle(waiting, message.content), { noAck: true });
  return {
    run: (round) =>
      runLoad({
        ...round,
        step: async (_lane, timed) => {
          await timed(() => ask(waiting, (text) => channel.sendToQueue('bench.devices', Buffer.from(text), { replyTo })));
        },
      }),
    async stop() {
      light.kill('SIGKILL');
      await connection.close();
    },
  };
}

function ask(waiting: Map<string, () => void>, send: (text: string) => void): Promise<void> {
  const id = randomUUID();
  return new Promise((resolve) => {
    waiting.set(id, resolve);
    send(JSON.stringify({ id, data: { name: 'Pay', args: { amount: 150.5 } } }));
  });
}

function settle(waiting: Map<string, () => void>, payload: Buffer): void {
  const { id } = JSON.parse(payload.toString('utf8')) as { id: string };
  waiting.get(id)?.();
  waiting.delete(id);
}

/** One insert and one update, each its own commit, on ten connections. */
export async function twoCommits(postgresUrl: string): Promise<RawLimit> {
  const pool = new Pool({ connectionString: await createDatabase(postgresUrl), max: 10 });
  await pool.query('create table commands (id uuid primary key, state text not null, args text not null, report text)');
  const args = JSON.stringify({ amount: 150.5, documentNr: randomUUID() });
  return {
    run: (round) =>
      runLoad({
        ...round,
        step: async (_lane, timed) => {
          const id = randomUUID();
          await timed(async () => {
            await pool.query({ name: 'i', text: 'insert into commands (id, state, args) values ($1, $2, $3)', values: [id, 'sent', args] });
            await pool.query({ name: 'u', text: 'update commands set state = $2, report = $3 where id = $1', values: [id, 'done', args] });
          });
        },
      }),
    stop: () => pool.end(),
  };
}

/** A Fastify route that parses a body and answers a small object. */
export async function bareRoute(): Promise<RawLimit> {
  const { child, line } = await startScript([fileURLToPath(new URL('bare-route.ts', import.meta.url))], /listens at (\S+)/);
  return {
    async run(round) {
      const clients = await Promise.all(Array.from({ length: round.inFlight }, () => openConnection(line[1] ?? '')));
      const body = { APIKey: randomUUID(), amount: 150.5, documentNr: randomUUID() };
      const measured = await runLoad({
        ...round,
        step: async (lane, timed) => {
          await timed(async () => await clients[lane]?.post('/Pay', body));
        },
      });
      for (const client of clients) client.close();
      return measured;
    },
    async stop() {
      child.kill('SIGKILL');
    },
  };
}
