// The session's cookie: where it is sent, and that it never travels unencrypted where HTTPS is spoken.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';
import { clearSessionCookie, readSessionToken, setSessionCookie } from '../../src/http/session-cookie.ts';

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
    expect(read()).toBeUndefined();
  });
});
