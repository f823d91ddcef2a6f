// The certificate that this gateway shows: its dates, its chain, its names and its key.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { rootCertificates } from 'node:tls';
import type { Clock } from '../../kernel/clock.ts';
import type { Config } from '../../settings.ts';
import { doubt, type Finding, good, trouble } from './finding.ts';

const dayMs = 24 * 3_600_000;
const renewWithinDays = 21;
const renew = 'Renew it: write the new files in the place of the old ones, and a running gateway takes them within seconds.';

/** `hosts`: the names under which devices and callers dial this certificate. */
export async function checkCertificate({ tlsCert, tlsKey }: Config, hosts: readonly string[], clock: Clock): Promise<Finding[]> {
  if (tlsCert === undefined || tlsKey === undefined) return [good('certificate', 'None: this gateway speaks no TLS itself.')];
  const chain = splitChain(await readFile(tlsCert, 'utf8'));
  const key = createPrivateKey(await readFile(tlsKey, 'utf8'));
  const [own] = chain;
  if (own === undefined) return [trouble('certificate', `${tlsCert} holds no certificate.`, 'Put the chain there, in PEM.')];
  const findings = [...dates(own, clock), ...names(own, hosts), ...chainOf(chain)];
  if (!own.checkPrivateKey(key))
    findings.push(
      trouble(
        'certificate',
        'Certificate and key do not belong together.',
        'Name the key that the certificate was made with in TILLGATE_TLS_KEY.',
      ),
    );
  const until = own.validToDate.toISOString().slice(0, 10);
  return findings.length > 0 ? findings : [good('certificate', `Good until ${until} for ${hosts.join(', ') || 'every name it has'}.`)];
}

function splitChain(pem: string): X509Certificate[] {
  return (pem.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? []).map((one) => new X509Certificate(one));
}

function dates({ validFromDate, validToDate }: X509Certificate, clock: Clock): Finding[] {
  const leftDays = Math.floor((validToDate.getTime() - clock.now()) / dayMs);
  if (validFromDate.getTime() > clock.now())
    return [
      trouble(
        'certificate',
        `It is valid only from ${validFromDate.toISOString()} on.`,
        "Check this machine's clock, or take the right certificate.",
      ),
    ];
  if (leftDays < 0) return [trouble('certificate', `It expired at ${validToDate.toISOString()}.`, renew)];
  return leftDays < renewWithinDays ? [doubt('certificate', `It expires in ${leftDays} days.`, renew)] : [];
}

function names(own: X509Certificate, hosts: readonly string[]): Finding[] {
  const missing = hosts.filter((host) => (isIP(host) === 0 ? own.checkHost(host) : own.checkIP(host)) === undefined);
  if (missing.length === 0) return [];
  return [
    trouble(
      'certificate',
      `It is not for ${missing.join(', ')}, which devices dial (it is for ${own.subjectAltName ?? own.subject}).`,
      'Get one with that name, or tell devices a name that it has (TILLGATE_PUBLIC_URL, TILLGATE_MQTT_PUBLIC_URL).',
    ),
  ];
}

function chainOf(chain: readonly X509Certificate[]): Finding[] {
  for (const [place, one] of chain.slice(0, -1).entries()) {
    const above = chain[place + 1];
    if (above !== undefined && !(one.checkIssued(above) && one.verify(above.publicKey)))
      return [
        trouble(
          'certificate',
          `In the file, certificate ${place + 2} did not sign certificate ${place + 1}.`,
          'Put them in order: the own one first, then who signed it, and so on.',
        ),
      ];
  }
  const last = chain.at(-1);
  if (last === undefined || isKnownRoot(last)) return [];
  const isOwnAuthority = last.checkIssued(last);
  return [
    doubt(
      'certificate',
      isOwnAuthority ? 'No public authority vouches for it.' : 'Its chain ends at a certificate that no public authority here has signed.',
      isOwnAuthority
        ? 'Devices need its root put into them; until then they refuse it.'
        : 'Add the certificates between to the file, or put the root into the devices.',
    ),
  ];
}

function isKnownRoot(last: X509Certificate): boolean {
  return rootCertificates.some((pem) => {
    const root = new X509Certificate(pem);
    return last.fingerprint256 === root.fingerprint256 || (last.checkIssued(root) && last.verify(root.publicKey));
  });
}
