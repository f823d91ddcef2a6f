// `tillgate sink` says of every callback whether it is genuine, and answers them all.
import { afterEach, expect, it } from 'vitest';
import { signCallback } from '../../src/callbacks/signature.ts';
import { type Sink, startSink } from '../../src/cli/sink.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const secret = `whsec_${Buffer.from('the secret of a demo merchant...').toString('base64')}`;
const nowS = 1_900_000_000;
let sink: Sink | undefined;
afterEach(() => sink?.stop());

async function listen(known: () => string | undefined) {
  const lines: string[] = [];
  const clock = createVirtualClock(nowS * 1000);
  sink = await startSink({ port: 0, status: 200, clock, secret: known, print: (line) => lines.push(line) });
  const url = `http://127.0.0.1:${sink.port}/erp?state=Payed`;
  const get = async (headers: Record<string, string>) => {
    expect((await fetch(url, { headers })).status).toBe(200);
    return lines.at(-1)?.split(' signature=')[1];
  };
  const signed = (by: string, atS = nowS) => ({
    'webhook-id': 'one',
    'webhook-timestamp': String(atS),
    'tillgate-sequence': '1',
    'webhook-signature': signCallback(by, { id: 'one', timestampS: atS, sequence: 1, url }),
  });
  return { get, signed, lines };
}

it('tells a right signature from a wrong, a missing and an old one', async () => {
  const { get, signed } = await listen(() => secret);
  expect(await get(signed(secret))).toBe('ok');
  expect(await get(signed(`${secret.slice(0, -4)}AAAA`))).toBe('WRONG');
  expect(await get({})).toBe('missing');
  expect(await get(signed(secret, nowS - 301))).toBe('too old');
  expect(await get({ ...signed(secret), 'webhook-timestamp': String(nowS + 1) })).toBe('WRONG');
  expect(await get({ ...signed(secret), 'tillgate-sequence': '2' })).toBe('WRONG');
});

it('takes any of several signatures, as while a secret is being replaced', async () => {
  const { get, signed } = await listen(() => secret);
  const both = `${signed(`${secret.slice(0, -4)}AAAA`)['webhook-signature']} ${signed(secret)['webhook-signature']}`;
  expect(await get({ ...signed(secret), 'webhook-signature': both })).toBe('ok');
});

it('says when it has no secret to check by, and checks as soon as there is one', async () => {
  const known: string[] = [];
  const { get, signed } = await listen(() => known[0]);
  expect(await get(signed(secret))).toBe('not checked (--secret)');
  known.push(secret);
  expect(await get(signed(secret))).toBe('ok');
});
