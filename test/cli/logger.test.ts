import { describe, expect, it } from 'vitest';
import { createLogger } from '../../src/cli/logger.ts';

function logged(fields: object): Record<string, unknown> {
  let line = '';
  createLogger('info', { write: (text) => void (line += text) }).info(fields, 'a line');
  return JSON.parse(line) as Record<string, unknown>;
}

describe('a line of the log', () => {
  it('has no secret field, whatever its value', () => {
    expect(
      logged({ apiKey: 'k', APIKey: 1, secret: null, password: ['p'], token: { a: 1 }, adminToken: 't', authorization: 'Basic x' }),
    ).toEqual({
      level: 30,
      time: expect.any(String),
      apiKey: '[secret]',
      APIKey: '[secret]',
      secret: '[secret]',
      password: '[secret]',
      token: '[secret]',
      adminToken: '[secret]',
      authorization: '[secret]',
      msg: 'a line',
    });
  });

  it('has no secret field in an object of it', () => {
    expect(logged({ deviceId: 'd', headers: { host: 'h', authorization: 'Basic x' } })).toMatchObject({
      deviceId: 'd',
      headers: { host: 'h', authorization: '[secret]' },
    });
  });

  it('leaves the fields of its caller as they are', () => {
    const fields = { token: 't', inside: { secret: 's', list: [1, 2] } };
    expect(logged(fields)).toMatchObject({ token: '[secret]', inside: { secret: '[secret]', list: [1, 2] } });
    expect(fields).toEqual({ token: 't', inside: { secret: 's', list: [1, 2] } });
  });

  it('has of an error its message, code and stack, without card numbers and other properties', () => {
    const error = Object.assign(new Error('declined 4111111111111111'), { code: 'E1', row: 'password=1' });
    const { err } = logged({ err: error }) as { err: Record<string, unknown> };
    expect(Object.keys(err).sort()).toEqual(['code', 'message', 'stack', 'type']);
    expect(err).toMatchObject({ type: 'Error', code: 'E1' });
    expect(JSON.stringify(err)).not.toContain('4111111111111111');
  });

  it('has nothing that a terminal would obey, not even where its strings are printed decoded', () => {
    let line = '';
    const hostile = '\x1b]0;owned\x07\r\u009b2J\u202e\x7f';
    const log = createLogger('info', { write: (text) => void (line += text) }).child({ deviceId: hostile });
    log.info({ name: hostile, [hostile]: { inside: [hostile] }, err: new Error(hostile) }, hostile);
    const decoded =
      JSON.stringify(line) +
      Object.values(JSON.parse(line) as object)
        .map((value) => (typeof value === 'object' ? Object.values(value) : value))
        .join();
    expect(decoded).not.toMatch(/[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]/);
    expect(JSON.parse(line)).toMatchObject({ msg: '\\u001b]0;owned\\u0007\\r\\u009b2J\\u202e\\u007f' });
    expect(line).toMatch(/^[^\n]*\n$/);
  });
});
