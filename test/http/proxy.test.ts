// X-Forwarded-For: it is read from trusted proxies only.
import { afterEach, describe, expect, it } from 'vitest';
import { open } from '../../src/http/authentication.ts';
import { base, createSample, type Sample } from './sample-server.ts';

let sample: Sample;
afterEach(() => sample.server.stop(0));

async function addressSeen(trustedProxies: string[], remoteAddress: string, forwarded: string): Promise<string> {
  sample = createSample({ trustedProxies });
  let seen = '';
  sample.server.routes((app) => {
    app.get('/test/address', { config: { access: open }, schema: { hide: true } }, async (request) => {
      seen = request.ip;
      return {};
    });
  });
  await sample.server.app.inject({ method: 'GET', url: `${base}/test/address`, remoteAddress, headers: { 'x-forwarded-for': forwarded } });
  return seen;
}

describe("the caller's address", () => {
  it.each([
    ['the address that the proxy appended, whatever the client sent', ['10.0.0.5/32'], '10.0.0.5', '1.1.1.1, 203.0.113.7', '203.0.113.7'],
    [
      'the address that the first of several proxies appended',
      ['10.0.0.0/24'],
      '10.0.0.5',
      '1.1.1.1, 203.0.113.7, 10.0.0.9',
      '203.0.113.7',
    ],
    ['the caller itself, if it is not a trusted proxy', ['10.0.0.5/32'], '10.0.0.6', '203.0.113.7', '10.0.0.6'],
    ['the caller itself, if there is no proxy', [], '127.0.0.1', '203.0.113.7', '127.0.0.1'],
    ['the address that a proxy over IPv6 forwards', ['fd00::/8'], 'fd00::5', '203.0.113.7', '203.0.113.7'],
    ['the address that a proxy with a mapped IPv4 address forwards', ['10.0.0.5/32'], '::ffff:10.0.0.5', '203.0.113.7', '203.0.113.7'],
  ])('is %s', async (_name, trusted, remote, forwarded, address) => {
    expect(await addressSeen(trusted, remote, forwarded)).toBe(address);
  });
});
