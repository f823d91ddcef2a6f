// The gateway's certificate and key, for HTTPS and MQTT over TLS. The files are read again every few seconds, so a renewal needs only new
// files. Invariant: the pair in use always matches. A new pair applies to new connections and ends none; an invalid or partially written pair
// changes nothing and is logged once. A certificate that expires soon is logged at the start and once a day.

import { constants, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContext } from 'node:tls';
import { type Cancel, every } from '../kernel/clock.ts';
import { StartRefused } from '../kernel/start-refused.ts';
import { systemSentence } from '../kernel/system-errors.ts';
import type { World } from '../kernel/world.ts';

// Compared by content and not by date: after a symbolic link changes its target, date and size may be the same.
const lookEveryMs = 5_000;
const dayMs = 24 * 3_600_000;
const expiresSoonMs = 14 * dayMs;

/** As Node's options of a TLS port. */
export interface KeyPair {
  cert: string;
  key: string;
  secureOptions: number;
}

/** Each renegotiation costs as much as a login, on a connection that no bound counts again [D285]. */
const pairOf = (cert: string, key: string): KeyPair => ({ cert, key, secureOptions: constants.SSL_OP_NO_RENEGOTIATION });

export type Certificate = ReturnType<typeof openCertificate>;

export interface CertificateOptions extends Pick<World, 'clock' | 'logger'> {
  certFile: string;
  keyFile: string;
}

interface Loaded {
  pair: KeyPair;
  context: SecureContext;
  expiresAtMs: number;
}

function load(pair: KeyPair): Loaded {
  return { pair, context: createSecureContext(pair), expiresAtMs: expiryOf(pair.cert) };
}

/** A chain expires with the first of its certificates to expire. */
function expiryOf(chain: string): number {
  const blocks = chain.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
  return Math.min(...blocks.map((block) => new X509Certificate(block).validToDate.getTime()));
}

/** Throws StartRefused if the files cannot be read or do not match. */
export function openCertificate({ certFile, keyFile, clock, logger }: CertificateOptions) {
  let current: Loaded;
  let lastSeen: KeyPair;
  let stopLooking: Cancel = () => {};

  try {
    const pair = pairOf(readFileSync(certFile, 'utf8'), readFileSync(keyFile, 'utf8'));
    current = load(pair);
    lastSeen = pair;
  } catch (error) {
    throw new StartRefused(
      `TILLGATE_TLS_CERT and TILLGATE_TLS_KEY cannot be read as a certificate and its key in PEM: ${systemSentence(error) ?? `${(error as Error).message}.`}`,
    );
  }

  let warnedAtMs = Number.NEGATIVE_INFINITY;
  function warnOfExpiry(): void {
    warnedAtMs = clock.elapsed();
    const leftMs = current.expiresAtMs - clock.now();
    if (leftMs > expiresSoonMs) return;
    const expiresAt = new Date(current.expiresAtMs).toISOString();
    const what = leftMs > 0 ? `expires in ${Math.floor(leftMs / dayMs)} days` : 'has expired, and devices and callers refuse it';
    logger.warn({ expiresAt, file: certFile }, `the certificate ${what}; write a new one and its key into the same files`);
  }
  warnOfExpiry();

  async function look(onRenewed: (pair: KeyPair) => void): Promise<void> {
    if (clock.elapsed() - warnedAtMs >= dayMs) warnOfExpiry();
    let found: KeyPair | undefined;
    try {
      found = pairOf(...(await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')])));
    } catch (error) {
      // Also between the removal of an old file and the creation of the new one.
      found = pairOf('', String((error as NodeJS.ErrnoException).code));
    }
    if (found.cert === lastSeen.cert && found.key === lastSeen.key) return;
    lastSeen = found;
    if (found.cert === current.pair.cert && found.key === current.pair.key) return;
    try {
      if (found.cert === '') throw new Error('a file cannot be read');
      current = load(found);
      onRenewed(found);
      logger.info({}, 'a new certificate is in use');
      warnOfExpiry();
    } catch (error) {
      logger.warn(
        { reason: (error as Error).message },
        'the new certificate and key cannot be used; the gateway continues with the old ones',
      );
    }
  }

  return {
    get pair(): KeyPair {
      return current.pair;
    },
    /** When the first certificate of the chain in use expires. */
    get expiresAtMs(): number {
      return current.expiresAtMs;
    },
    context: () => current.context,
    /** `onRenewed` is called with each new pair. */
    watch(onRenewed: (pair: KeyPair) => void): void {
      stopLooking = every(clock, lookEveryMs, () => look(onRenewed));
    },
    stop(): void {
      stopLooking();
    },
  };
}
