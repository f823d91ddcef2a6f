// The certificate is read again when its files change; what does not fit together is never used.
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Certificate, type KeyPair, openCertificate } from '../../src/wiring/certificate.ts';
import { renewed, selfSigned } from '../http/self-signed.ts';
import { type RecordingLogger, recordingLogger } from '../support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

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
  it('is told once when it was renewed, and counts from then on', async () => {
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
      expect.objectContaining({ level: 'warn', message: expect.stringContaining('goes on with the old ones') }),
    ]);
    expect([certificate.context() === before, certificate.pair, told]).toEqual([true, selfSigned, []]);
    expect(JSON.stringify(logger.lines)).not.toContain('PRIVATE');
    put(renewed);
    await expect.poll(async () => (await looks(), told)).toEqual([renewed]);
  });
});
