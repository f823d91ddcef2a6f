import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { parseMoment } from '../../src/kernel/moments.ts';
import { isoTimeIn, isTimeZone } from '../../src/kernel/time-zones.ts';

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

  it.each([
    ['Europe/Chisinau', '2030-06-01T10:00:00', Date.UTC(2030, 5, 1, 7)],
    ['Europe/Chisinau', '2030-01-10T10:00:00.25', Date.UTC(2030, 0, 10, 8, 0, 0, 250)],
    ['Europe/Chisinau', '2030-06-01T10:00:00Z', Date.UTC(2030, 5, 1, 10)],
    // There the clocks skip the hour from 03:00 in spring, and show it twice in autumn.
    ['Europe/Bucharest', '2030-03-31T02:59:59', Date.UTC(2030, 2, 31, 0, 59, 59)],
    ['Europe/Bucharest', '2030-03-31T03:30:00', Date.UTC(2030, 2, 31, 1, 30)],
    ['Europe/Bucharest', '2030-03-31T04:00:00', Date.UTC(2030, 2, 31, 1)],
    ['Europe/Bucharest', '2030-10-27T02:59:59', Date.UTC(2030, 9, 26, 23, 59, 59)],
    ['Europe/Bucharest', '2030-10-27T04:00:00', Date.UTC(2030, 9, 27, 2)],
    ['Pacific/Auckland', '9999-12-31T23:59:59', Date.UTC(9999, 11, 31, 10, 59, 59)],
    ['+05:30', '2030-01-10 10:00', Date.UTC(2030, 0, 10, 4, 30)],
    ['Europe/Chisinau', '0100-01-01T00:00:00', Date.UTC(100, 0, 1)],
  ])('without an offset it is in the zone that is given, %s: %s [D150]', (zone, text, expectedMs) => {
    process.env['TZ'] = 'UTC';
    expect(parseMoment('ValidTo', text, zone)).toBe(expectedMs);
  });

  it('in the hour that the clocks skip, it is the moment an hour later', () => {
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

  it('of the first year is written as a date-time, whatever its offset', () => {
    expect(new Date(parseMoment('ValidTo', '0100-01-01T00:00:00+14:00')).toISOString()).toBe('0099-12-31T10:00:00.000Z');
  });

  it('reads back whatever a clock writes', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: Date.UTC(1970, 0, 3), max: Date.UTC(9999, 11, 31) }),
        fc.integer({ min: -14 * 60, max: 14 * 60 }),
        (atMs, offset) => {
          expect(parseMoment('ValidTo', new Date(atMs).toISOString())).toBe(atMs);
          const sign = offset < 0 ? '-' : '+';
          const two = (part: number) => String(part).padStart(2, '0');
          const local = new Date(atMs + offset * 60_000).toISOString().slice(0, -1);
          fc.pre(/^\d{4}-/.test(local));
          expect(parseMoment('ValidTo', `${local}${sign}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`)).toBe(
            atMs,
          );
        },
      ),
    );
  });
});

describe('a moment with the offset of its zone', () => {
  it.each([
    ['Europe/Chisinau', Date.UTC(2030, 5, 1, 7), '2030-06-01T10:00:00+03:00'],
    ['Europe/Chisinau', Date.UTC(2030, 0, 10, 8, 0, 0, 250), '2030-01-10T10:00:00.250+02:00'],
    ['America/St_Johns', Date.UTC(2030, 0, 10, 12), '2030-01-10T08:30:00-03:30'],
    ['UTC', Date.UTC(2030, 0, 10, 12), '2030-01-10T12:00:00+00:00'],
    ['Europe/Chisinau', Date.UTC(9999, 11, 31, 23, 59, 59, 999), '9999-12-31T23:59:59.999Z'],
  ])('in %s: %i', (zone, atMs, text) => {
    expect(isoTimeIn(zone, atMs)).toBe(text);
  });

  it('is read as the same moment, whatever the zone and the time of the year', () => {
    const zones = fc.constantFrom('Europe/Chisinau', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu', '-12:00', 'UTC');
    fc.assert(
      fc.property(zones, fc.integer({ min: Date.UTC(1970, 0, 3), max: Date.UTC(9999, 11, 30) }), (zone, atMs) => {
        const text = isoTimeIn(zone, atMs);
        expect(parseMoment('ValidTo', text)).toBe(atMs);
        // Once a year an hour is shown twice: there the offset alone tells which.
        expect(Math.abs(parseMoment('ValidTo', text.replace(/[+-]\d\d:\d\d$/, ''), zone) - atMs)).toBeLessThanOrEqual(3_600_000);
      }),
    );
  });

  it('knows which zones there are', () => {
    expect(['Europe/Chisinau', 'UTC', '+02:00'].map(isTimeZone)).toEqual([true, true, true]);
    expect(['Mars/Olympus', '', 'Chisinau'].map(isTimeZone)).toEqual([false, false, false]);
  });
});
