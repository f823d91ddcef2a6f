// The session's cookie: where it is sent, and that it never travels unencrypted where HTTPS is spoken.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';
import { clearSessionCookie, readSessionToken, requireOwnPage, setSessionCookie } from '../../src/http/session-cookie.ts';

function written(protocol: 'http' | 'https', place: { basePath: string; publicUrl?: string }, isCleared = false): string {
  let cookie = '';
  const reply = {
    header(_name: string, value: string) {
      cookie = value;
    },
  } as unknown as FastifyReply;
  const request = { protocol } as FastifyRequest;
  if (isCleared) clearSessionCookie(request, reply, place);
  else setSessionCookie(request, reply, place, { token: 'abc', leftMs: 61_999 });
  return cookie;
}

describe('the cookie', () => {
  it('is Secure where HTTPS is spoken, here or at the public address', () => {
    expect(written('http', { basePath: '/tillgate' })).toBe('tillgate_session=abc; Path=/tillgate; Max-Age=61; HttpOnly; SameSite=Strict');
    expect(written('https', { basePath: '/tillgate' })).toMatch(/; Secure$/);
    expect(written('http', { basePath: '', publicUrl: 'https://pay.example.md' })).toMatch(/; Path=\/; .*; Secure$/);
    expect(written('http', { basePath: '', publicUrl: 'http://pay.example.md' })).not.toContain('Secure');
  });

  it('is taken back by an empty one at the same path', () => {
    expect(written('http', { basePath: '/tillgate' }, true)).toMatch(/^tillgate_session=; Path=\/tillgate; Max-Age=0;/);
  });

  it('is found among others, the first of its name', () => {
    const read = (cookie?: string) => readSessionToken({ headers: { cookie } } as FastifyRequest);
    expect(read('a=b; tillgate_session=one; tillgate_session=two')).toBe('one');
    expect(read('tillgate_session=; xtillgate_session=x')).toBeUndefined();
    expect(read('tillgate_session= ; tillgate_session = two ;')).toBe('two');
    expect(read()).toBeUndefined();
  });
});

describe('a change', () => {
  const from = (headers: Record<string, string>, publicUrl?: string) => () =>
    requireOwnPage(
      { headers: { 'x-tillgate-request': '1', ...headers }, host: 'Gate.example:8080' } as unknown as FastifyRequest,
      publicUrl,
    );
  const refused = expect.objectContaining({ errorName: 'Invalid_Request', httpStatus: 403 }) as Error;

  it('comes from a program, from our own page, or from the one at the public address', () => {
    from({})();
    from({ origin: 'http://gate.example:8080' })();
    from({ origin: 'https://pay.example' }, 'https://pay.example/tillgate')();
  });

  it.each(['https://evil.example', 'http://gate.example', 'null', 'http://gate.example:8080.evil.example'])(
    'comes from no page of %s',
    (origin) => {
      expect(from({ origin })).toThrow(refused);
      expect(from({ origin }, 'https://pay.example/tillgate')).toThrow(refused);
    },
  );

  it.each(['0', '', '11'])('comes from nobody who says %j instead of 1', (said) => {
    expect(from({ 'x-tillgate-request': said })).toThrow(refused);
  });
});
