// The certificate is read again when its files change; what does not fit together is never used.
import { constants } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Certificate, type KeyPair, openCertificate } from '../../src/wiring/certificate.ts';
import { selfSigned as firstPair, renewed as renewedPair } from '../http/self-signed.ts';
import { type RecordingLogger, recordingLogger } from '../support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

const secureOptions = constants.SSL_OP_NO_RENEGOTIATION;
const selfSigned: KeyPair = { ...firstPair, secureOptions };
const renewed: KeyPair = { ...renewedPair, secureOptions };

let directory: string;
let clock: VirtualClock;
let logger: RecordingLogger;
let certificate: Certificate;
let told: KeyPair[];
const file = (name: string) => join(directory, name);
const put = ({ cert, key }: KeyPair) => {
  writeFileSync(file('cert.pem'), cert);
  writeFileSync(file('key.pem'), key);
};
const looks = async () => {
  await clock.advance(5_000);
  await clock.settle();
};

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tillgate-certificate-'));
  put(selfSigned);
  clock = createVirtualClock();
  logger = recordingLogger();
  told = [];
  certificate = openCertificate({ certFile: file('cert.pem'), keyFile: file('key.pem'), clock, logger });
  certificate.watch((pair) => told.push(pair));
});
afterEach(() => {
  certificate.stop();
  expect(clock.pending).toBe(0);
  rmSync(directory, { recursive: true, force: true });
});

describe('the certificate', () => {
  it('is reported once when it was renewed, and counts from then on', async () => {
    const before = certificate.context();
    await looks();
    expect(told).toEqual([]);
    put(renewed);
    await expect.poll(async () => (await looks(), told)).toEqual([renewed]);
    expect(certificate.pair).toEqual(renewed);
    expect(certificate.context()).not.toBe(before);
    await looks();
    expect(told).toHaveLength(1);
  });

  it.each<[string, () => void]>([
    ['half of it is new', () => writeFileSync(file('cert.pem'), renewed.cert)],
    ['a file is broken', () => writeFileSync(file('key.pem'), renewed.key.slice(0, 60))],
    ['a file is empty', () => writeFileSync(file('cert.pem'), '')],
    ['a file is missing', () => renameSync(file('key.pem'), file('elsewhere.pem'))],
  ])('stays what it was while %s, with one warning, and is renewed when the rest is there', async (_what, spoil) => {
    const before = certificate.context();
    spoil();
    await expect.poll(async () => (await looks(), logger.lines.length)).toBe(1);
    await looks();
    await looks();
    expect(logger.lines).toEqual([
      expect.objectContaining({ level: 'warn', message: expect.stringContaining('continues with the old ones') }),
    ]);
    expect([certificate.context() === before, certificate.pair, told]).toEqual([true, selfSigned, []]);
    expect(JSON.stringify(logger.lines)).not.toContain('PRIVATE');
    put(renewed);
    await expect.poll(async () => (await looks(), told)).toEqual([renewed]);
  });

  const dayMs = 24 * 3_600_000;
  const expiresAtMs = Date.parse('2126-10-22T02:34:44Z');
  const warnings = () => logger.lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
  const reopen = () => {
    certificate.stop();
    certificate = openCertificate({ certFile: file('cert.pem'), keyFile: file('key.pem'), clock, logger });
    certificate.watch((pair) => told.push(pair));
  };

  it('is warned of at the start and once a day from 14 days before it expires, until it is renewed', async () => {
    expect([certificate.expiresAtMs, warnings()]).toEqual([expiresAtMs, []]);
    clock.setWallClock(expiresAtMs - 14 * dayMs - 1);
    reopen();
    expect(warnings()).toEqual([]);
    clock.setWallClock(expiresAtMs - 13.5 * dayMs);
    reopen();
    expect(warnings()).toEqual(['the certificate expires in 13 days; write a new one and its key into the same files']);
    for (let count = 0; count < 5; count += 1) await looks();
    expect(warnings()).toHaveLength(1);
    await clock.advance(dayMs);
    await expect.poll(async () => (await looks(), warnings().at(-1))).toMatch(/expires in 12 days/);
    expect(warnings()).toHaveLength(2);
    clock.setWallClock(expiresAtMs + 1);
    reopen();
    expect(warnings().at(-1)).toMatch(/has expired, and devices and callers refuse it/);
  });

  it('counts as expiring when any of its chain does, wherever that stands', () => {
    const later = Date.parse('2126-10-22T22:15:07Z');
    put(renewed);
    reopen();
    expect(certificate.expiresAtMs).toBe(later);
    put({ ...renewed, cert: `${renewed.cert}${selfSigned.cert}` });
    reopen();
    expect(certificate.expiresAtMs).toBe(expiresAtMs);
  });

  it('says when a renewed one expires as soon as it is in use', async () => {
    put(renewed);
    await expect.poll(async () => (await looks(), told)).toEqual([renewed]);
    expect(certificate.expiresAtMs).toBe(Date.parse('2126-10-22T22:15:07Z'));
  });
});
