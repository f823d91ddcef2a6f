import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { parseMoment } from '../../src/kernel/moments.ts';

const zoneBefore = process.env['TZ'];

describe('the validity limit', () => {
  afterEach(() => {
    if (zoneBefore === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zoneBefore;
  });

  it.each([
    ['2030-06-01T10:00:00Z', Date.UTC(2030, 5, 1, 10)],
    ['2030-06-01t10:00:00z', Date.UTC(2030, 5, 1, 10)],
    ['2030-06-01 10:00:00+03:00', Date.UTC(2030, 5, 1, 7)],
    ['2030-06-01T10:00:00-0330', Date.UTC(2030, 5, 1, 13, 30)],
    ['2030-06-01T10:00+00:00', Date.UTC(2030, 5, 1, 10)],
    ['2030-06-01T10:00:00.5Z', Date.UTC(2030, 5, 1, 10, 0, 0, 500)],
    ['2030-06-01T10:00:00.1239999Z', Date.UTC(2030, 5, 1, 10, 0, 0, 123)],
    ['2028-02-29T00:00:00Z', Date.UTC(2028, 1, 29)],
    ['9999-12-31T23:59:59.9999999Z', Date.UTC(9999, 11, 31, 23, 59, 59, 999)],
    ['9999-12-31T23:59:59+02:00', Date.UTC(9999, 11, 31, 21, 59, 59)],
    ['9999-12-31T18:59:59.999-05:00', Date.UTC(9999, 11, 31, 23, 59, 59, 999)],
  ])('%s', (text, expectedMs) => {
    expect(parseMoment('ValidTo', text)).toBe(expectedMs);
  });

  it.each([
    ['Europe/Chisinau', '2030-06-01T10:00:00', Date.UTC(2030, 5, 1, 7)],
    ['Europe/Chisinau', '2030-01-10T10:00:00.25', Date.UTC(2030, 0, 10, 8, 0, 0, 250)],
    ['America/New_York', '2030-01-10 10:00', Date.UTC(2030, 0, 10, 15)],
    ['UTC', '2030-01-10T10:00:00', Date.UTC(2030, 0, 10, 10)],
  ])('without an offset it is in the zone of the server, %s: %s', (zone, text, expectedMs) => {
    process.env['TZ'] = zone;
    expect(parseMoment('ValidTo', text)).toBe(expectedMs);
  });

  it('in the hour that the clocks skip, it is the moment an hour on', () => {
    process.env['TZ'] = 'America/New_York';
    expect(parseMoment('ValidTo', '2030-03-10T02:30:00')).toBe(Date.UTC(2030, 2, 10, 7, 30));
  });

  it.each([
    '',
    'tomorrow',
    '2030-06-01',
    '2030-06-01T10',
    '2030-02-30T10:00:00Z',
    '2027-02-29T10:00:00Z',
    '2030-13-01T10:00:00Z',
    '2030-00-01T10:00:00Z',
    '2030-06-01T24:00:00Z',
    '2030-06-01T10:60:00Z',
    '2030-06-01T10:00:60Z',
    '2030-06-01T10:00:00+14:01',
    '2030-06-01T10:00:00+10:60',
    '2030-06-01T10:00:00 Z',
    ' 2030-06-01T10:00:00Z',
    '2030-06-01T10:00:00Z\n',
    '0001-01-01T00:00:00',
    '12030-06-01T10:00:00Z',
    '-2030-06-01T10:00:00Z',
    '1893456000',
    '2030-06-01T10:00:00.1234567890Z',
  ])('is refused with the field’s name: %j', (text) => {
    expect(() => parseMoment('ValidTo', text)).toThrow(/^ValidTo must/);
  });

  it.each(['9999-12-31T23:59:59-05:00', '9999-12-31T19:00:00-05:00', '9999-12-31T23:59:59'])(
    'is refused after the year 9999 of UTC, which is given out as no date-time: %s',
    (text) => {
      process.env['TZ'] = 'America/New_York';
      expect(() => parseMoment('ValidTo', text)).toThrow('ValidTo must not be after 9999-12-31T23:59:59Z.');
    },
  );

  it('of the first year is given out as a date-time, whatever its offset', () => {
    expect(new Date(parseMoment('ValidTo', '0100-01-01T00:00:00+14:00')).toISOString()).toBe('0099-12-31T10:00:00.000Z');
  });

  it('reads back whatever a clock writes', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) }), fc.integer({ min: -14 * 60, max: 14 * 60 }), (atMs, offset) => {
        expect(parseMoment('ValidTo', new Date(atMs).toISOString())).toBe(atMs);
        const sign = offset < 0 ? '-' : '+';
        const two = (part: number) => String(part).padStart(2, '0');
        const local = new Date(atMs + offset * 60_000).toISOString().slice(0, -1);
        fc.pre(/^\d{4}-/.test(local));
        expect(parseMoment('ValidTo', `${local}${sign}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`)).toBe(atMs);
      }),
    );
  });
});
