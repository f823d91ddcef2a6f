// The cookies of the cabinet: their scope, and that they are Secure wherever HTTPS is used.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';
import { clearCookie, readCookie, requireOwnPage, setCookie } from '../../src/http/session-cookie.ts';

type Place = { basePath: string; publicUrl?: string };

function written(protocol: 'http' | 'https', place: Place, isCleared = false): string {
  let cookie = '';
  const reply = {
    header(_name: string, value: string) {
      cookie = value;
    },
  } as unknown as FastifyReply;
  const request = { protocol } as FastifyRequest;
  if (isCleared) clearCookie(request, reply, place, 'session');
  else setCookie(request, reply, place, 'session', { value: 'abc', lifetimeMs: 61_999 });
  return cookie;
}

const read = (cookie: string | undefined, protocol = 'http', place: Place = { basePath: '/tillgate' }) =>
  readCookie({ headers: { cookie }, protocol } as unknown as FastifyRequest, place, 'session');

describe('the cookie', () => {
  it('has the __Host- prefix and Secure with HTTPS, at this port or at the public URL', () => {
    expect(written('http', { basePath: '/tillgate' })).toBe('tillgate_session=abc; Path=/tillgate; Max-Age=61; HttpOnly; SameSite=Strict');
    const secure = (name: string) => `__Host-${name}_session=abc; Path=/; Max-Age=61; HttpOnly; SameSite=Strict; Secure`;
    expect(written('https', { basePath: '/tillgate' })).toBe(secure('tillgate'));
    expect(written('https', { basePath: '/second' })).toBe(secure('second'));
    expect(written('http', { basePath: '', publicUrl: 'https://pay.example.md' })).toBe(secure('tillgate'));
    expect(written('http', { basePath: '', publicUrl: 'http://pay.example.md' })).not.toContain('Secure');
  });

  it('is cleared by an empty one at the same path', () => {
    expect(written('http', { basePath: '/tillgate' }, true)).toMatch(/^tillgate_session=; Path=\/tillgate; Max-Age=0;/);
    expect(written('https', { basePath: '/tillgate' }, true)).toMatch(/^__Host-tillgate_session=; Path=\/; Max-Age=0;/);
  });

  it('is found among others, and ignored if there are two different ones', () => {
    expect(read('a=b; tillgate_session=one; xtillgate_session=x')).toBe('one');
    expect(read('tillgate_session=one; tillgate_session=two')).toBeUndefined();
    expect(read('tillgate_session=one; tillgate_session=one')).toBe('one');
    expect(read('tillgate_session=; xtillgate_session=x')).toBeUndefined();
    expect(read('tillgate_session= ; tillgate_session = two= ;')).toBe('two=');
    expect(read(undefined)).toBeUndefined();
  });

  it('is read with HTTPS only under the name that no other host can set', () => {
    const both = 'tillgate_session=planted; __Host-tillgate_session=mine';
    expect(read(both, 'https')).toBe('mine');
    expect(read(both, 'http', { basePath: '/tillgate', publicUrl: 'https://pay.example.md' })).toBe('mine');
    expect(read('tillgate_session=planted', 'https')).toBeUndefined();
  });
});

describe('a change', () => {
  const from = (headers: Record<string, string>, publicUrl?: string) => () =>
    requireOwnPage(
      { headers: { 'x-tillgate-request': '1', ...headers }, host: 'Gate.example:8080', protocol: 'http' } as unknown as FastifyRequest,
      publicUrl,
    );
  const refused = expect.objectContaining({ errorName: 'Invalid_Request', httpStatus: 403 }) as Error;

  it('is accepted from a program, from the own page, or from the public URL', () => {
    from({})();
    from({ origin: 'http://gate.example:8080' })();
    from({ origin: 'https://pay.example' }, 'https://pay.example/tillgate')();
  });

  it.each([
    'https://evil.example',
    'https://gate.example:8080',
    'http://pay.example',
    'http://gate.example',
    'null',
    'http://gate.example:8080.evil.example',
  ])('is refused from a page of %s', (origin) => {
    expect(from({ origin })).toThrow(refused);
    expect(from({ origin }, 'https://pay.example/tillgate')).toThrow(refused);
  });

  it.each(['0', '', '11'])('is refused with %j instead of 1', (said) => {
    expect(from({ 'x-tillgate-request': said })).toThrow(refused);
  });
});
