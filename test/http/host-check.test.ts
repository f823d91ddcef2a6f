// DNS rebinding [D153]: pages, the cabinet's API and the API reference check the Host header; the ERP API, health and metrics do not.
import { afterEach, describe, expect, it } from 'vitest';
import type { HttpServerOptions } from '../../src/http/server.ts';
import { adminToken, base, createSample, posKey, type Sample } from './sample-server.ts';

let sample: Sample;
afterEach(() => sample.server.stop(0));

async function statusOf(host: string | undefined, path: string, options: Partial<HttpServerOptions> = {}, headers: object = {}) {
  sample = createSample(options);
  const answer = await sample.server.app.inject({ method: 'GET', url: `${base}${path}`, headers: { host, ...headers } as never });
  return answer.statusCode;
}

const browserPaths = [
  '/cabinet',
  '/cabinet/payments',
  '/cabinet/api/none',
  '/docs',
  '/docs/openapi.json',
  '/docs/cabinet.json',
  '/docs/start.js',
];

describe('a foreign name in the Host header', () => {
  it.each(browserPaths)('is refused for %s', async (path) => {
    expect(await statusOf('rebound.example:8080', path)).toBe(421);
  });

  it.each([
    ['/Device/sample/Status', { 'x-api-key': posKey }],
    ['/health/live', {}],
    ['/metrics', { authorization: `Bearer ${adminToken}` }],
    ['/openapi.json', {}],
  ])('is accepted for %s, which programs call by any name', async (path, headers) => {
    expect(await statusOf('rebound.example', path, {}, headers)).not.toBe(421);
  });

  it.each([
    ['rebound.example', {}],
    ['127.0.0.1.rebound.example', {}],
    ['localhost.rebound.example', {}],
    ['user@localhost', {}],
    ['localhost:80:80', {}],
    ['/', {}],
    ['192.0.2.7', {}],
    ['pay.example.md.rebound.example', { publicUrl: 'https://pay.example.md/tillgate' }],
    // A page can send this header to its own host, and a proxy may forward it.
    ['rebound.example', { trustedProxies: ['127.0.0.0/8'] }],
  ])('is refused: %s', async (host, options) => {
    expect(await statusOf(host, '/docs', options, { 'x-forwarded-host': 'localhost' })).toBe(421);
  });

  it.each([
    ['localhost:8080', {}],
    ['LOCALHOST', {}],
    ['localhost.', {}],
    ['127.0.0.1', {}],
    ['127.8.9.1:1', {}],
    ['[::1]:8080', {}],
    ['192.0.2.7:8080', { host: '192.0.2.7' }],
    ['192.0.2.7:8080', { host: '0.0.0.0' }],
    ['[2001:db8::7]', { host: '::' }],
    ['pay.example.md', { publicUrl: 'https://pay.example.md/tillgate' }],
    ['Pay.Example.md:443', { publicUrl: 'https://pay.example.md:8443/tillgate' }],
    ['till.lan', { hosts: ['other.lan', 'till.lan'] }],
  ])('is distinguished from the own name %s', async (host, options) => {
    expect(await statusOf(host, '/docs', options)).toBe(200);
  });
});
