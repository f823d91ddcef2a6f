// Whether an answer reached its caller, over real sockets.
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { FastifyReply } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { open } from '../../src/http/authentication.ts';
import { type Recipient, recipientOf } from '../../src/http/recipient.ts';
import { until } from '../support/until.ts';
import { openRaw } from './raw-socket.ts';
import { base, createSample, type Sample } from './sample-server.ts';

let sample: Sample;
let port: number;
let recipients: Recipient[];
let theirSocket: Socket | null;
let answer: () => void;
let body: string;

beforeEach(async () => {
  sample = createSample();
  recipients = [];
  body = 'short';
  const { promise, resolve } = Promise.withResolvers<void>();
  answer = resolve;
  sample.server.routes((app) => {
    app.get('/test/recipient', { config: { access: open }, schema: { hide: true } }, async (_request, reply) => {
      theirSocket = reply.raw.socket;
      recipients.push(recipientOf(reply));
      await promise;
      return { body };
    });
  });
  ({ port } = await sample.server.listen());
});
afterEach(() => sample.server.stop(0));

async function ask() {
  const { socket, until: untilText } = await openRaw(port);
  socket.write(`GET ${base}/test/recipient HTTP/1.1\r\nHost: x\r\n\r\n`);
  await until(() => recipients.length > 0);
  const [recipient] = recipients;
  if (!recipient) throw new Error('The call has not arrived.');
  return { socket, untilText, recipient };
}

describe('the recipient', () => {
  it('that waits for the whole answer has received it, and does not count as left when it disconnects afterwards', async () => {
    const { socket, untilText, recipient } = await ask();
    let hasHungUp = false;
    recipient.onLeft(() => {
      hasHungUp = true;
    });
    expect(recipient.hasLeft()).toBe(false);
    answer();
    await untilText((text) => text.includes('short'));
    expect(await recipient.received).toBe(true);
    socket.destroy();
    await sample.server.stop(1_000);
    expect([recipient.hasLeft(), hasHungUp]).toEqual([false, false]);
  });

  it.each(['destroy', 'end', 'resetAndDestroy'] as const)(
    'that disconnects before the answer (%s) has left, and receives nothing',
    async (how) => {
      const { socket, recipient } = await ask();
      const left = new Promise<void>((resolve) => recipient.onLeft(resolve));
      socket[how]();
      await left;
      expect(await recipient.received).toBe(false);
      expect(recipient.hasLeft()).toBe(true);
      // A late listener is called at once.
      await new Promise<void>((resolve) => recipient.onLeft(resolve));
      answer();
    },
  );

  it('has left as soon as the end of its stream is read, before the connection is closed, when a query may still complete', async () => {
    const { socket, recipient } = await ask();
    const atLastWord = new Promise<boolean>((resolve) => theirSocket?.once('end', () => resolve(recipient.hasLeft())));
    socket.end();
    expect(await atLastWord).toBe(true);
    answer();
  });

  it('that disconnects during the answer has not received it', async () => {
    body = 'x'.repeat(64 * 1024 * 1024);
    const { socket, recipient } = await ask();
    socket.pause();
    answer();
    const written = await Promise.race([recipient.received, new Promise((resolve) => setTimeout(resolve, 100, 'not yet'))]);
    expect(written).toBe('not yet');
    socket.destroy();
    expect(await recipient.received).toBe(false);
  });
});

describe('a recipient whose connection is already closed', () => {
  const over = (writableFinished: boolean) => {
    const raw = Object.assign(new EventEmitter(), { destroyed: true, writableFinished, socket: null });
    return recipientOf({ raw } as unknown as FastifyReply);
  };

  it('has left, and receives nothing', async () => {
    const recipient = over(false);
    let hasHungUp = false;
    recipient.onLeft(() => {
      hasHungUp = true;
    });
    expect([recipient.hasLeft(), hasHungUp, await recipient.received]).toEqual([true, true, false]);
  });

  it('after the whole answer has not left', () => {
    expect(over(true).hasLeft()).toBe(false);
  });
});
