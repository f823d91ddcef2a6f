// The gateway's certificate and key, for HTTPS and MQTT over TLS alike. The files are read again every few seconds: whoever renews a
// certificate writes the files and is done. Always holds: what is in use is a pair that fits together. A new pair counts for new
// connections, and no connection ends over it; a broken or half-written one changes nothing and is told once.
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContext } from 'node:tls';
import { type Cancel, type Clock, every } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import { StartRefused } from '../kernel/start-refused.ts';
import { systemSentence } from '../kernel/system-errors.ts';

// Compared by content and not by date: a link that is turned to another directory has neither a new date nor a new size for sure.
const lookEveryMs = 5_000;

export interface KeyPair {
  cert: string;
  key: string;
}

export interface Certificate {
  readonly pair: KeyPair;
  context(): SecureContext;
  /** `onRenewed` is called with each new pair. */
  watch(onRenewed: (pair: KeyPair) => void): void;
  stop(): void;
}

export interface CertificateOptions {
  certFile: string;
  keyFile: string;
  clock: Clock;
  logger: Logger;
}

/** Throws StartRefused when the files cannot be read or do not fit together. */
export function openCertificate({ certFile, keyFile, clock, logger }: CertificateOptions): Certificate {
  let current: { pair: KeyPair; context: SecureContext };
  let lastSeen: KeyPair;
  let stopLooking: Cancel = () => {};

  try {
    const pair = { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
    current = { pair, context: createSecureContext(pair) };
    lastSeen = pair;
  } catch (error) {
    throw new StartRefused(
      `TILLGATE_TLS_CERT and TILLGATE_TLS_KEY cannot be read as a certificate and its key in PEM: ${systemSentence(error) ?? `${(error as Error).message}.`}`,
    );
  }

  async function look(onRenewed: (pair: KeyPair) => void): Promise<void> {
    let found: KeyPair | undefined;
    try {
      const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
      found = { cert, key };
    } catch (error) {
      // Also the moment between the removal of an old file and the arrival of the new one.
      found = { cert: '', key: String((error as NodeJS.ErrnoException).code) };
    }
    if (found.cert === lastSeen.cert && found.key === lastSeen.key) return;
    lastSeen = found;
    if (found.cert === current.pair.cert && found.key === current.pair.key) return;
    try {
      if (found.cert === '') throw new Error('a file cannot be read');
      current = { pair: found, context: createSecureContext(found) };
      onRenewed(found);
      logger.info({}, 'a new certificate is in use');
    } catch (error) {
      logger.warn(
        { reason: (error as Error).message },
        'the new certificate and key cannot be used; the gateway goes on with the old ones',
      );
    }
  }

  return {
    get pair() {
      return current.pair;
    },
    context: () => current.context,
    watch(onRenewed) {
      stopLooking = every(clock, lookEveryMs, () => look(onRenewed));
    },
    stop() {
      stopLooking();
    },
  };
}
