// Checks the gateway's certificate: its dates, chain, names and key.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { rootCertificates } from 'node:tls';
import type { Clock } from '../../kernel/clock.ts';
import type { Config } from '../../settings.ts';
import { doubt, type Finding, good, trouble } from './finding.ts';

const dayMs = 24 * 3_600_000;
const renewWithinDays = 21;
const renew = 'Renew it: replace the files; a running gateway reads them within seconds.';

/** `hosts`: the names to which devices and callers connect. */
export async function checkCertificate({ tlsCert, tlsKey }: Config, hosts: readonly string[], clock: Clock): Promise<Finding[]> {
  if (tlsCert === undefined || tlsKey === undefined) return [good('certificate', 'None: this gateway does not use TLS itself.')];
  const chain = splitChain(await readFile(tlsCert, 'utf8'));
  const key = createPrivateKey(await readFile(tlsKey, 'utf8'));
  const [own] = chain;
  if (own === undefined) return [trouble('certificate', `${tlsCert} contains no certificate.`, 'Put the chain there, in PEM.')];
  const findings = [...dates(own, clock), ...names(own, hosts), ...chainOf(chain)];
  if (!own.checkPrivateKey(key))
    findings.push(
      trouble('certificate', 'The key does not match the certificate.', 'Set TILLGATE_TLS_KEY to the private key of the certificate.'),
    );
  const until = own.validToDate.toISOString().slice(0, 10);
  return findings.length > 0 ? findings : [good('certificate', `Valid until ${until} for ${hosts.join(', ') || 'every name it has'}.`)];
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
        "Check this machine's clock, or use the right certificate.",
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
      `It is not valid for ${missing.join(', ')}, to which devices connect (it is for ${own.subjectAltName ?? own.subject}).`,
      'Get one with that name, or give devices a name that it has (TILLGATE_PUBLIC_URL, TILLGATE_MQTT_PUBLIC_URL).',
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
          'Sort them: the own certificate first, then its issuer, and so on.',
        ),
      ];
  }
  const last = chain.at(-1);
  if (last === undefined || isKnownRoot(last)) return [];
  const isOwnAuthority = last.checkIssued(last);
  return [
    doubt(
      'certificate',
      isOwnAuthority ? 'No public authority has signed it.' : 'Its chain ends at a certificate that no public authority here has signed.',
      isOwnAuthority
        ? 'Install its root in the devices; until then they refuse it.'
        : 'Add the intermediate certificates to the file, or install the root in the devices.',
    ),
  ];
}

function isKnownRoot(last: X509Certificate): boolean {
  return rootCertificates.some((pem) => {
    const root = new X509Certificate(pem);
    return last.fingerprint256 === root.fingerprint256 || (last.checkIssued(root) && last.verify(root.publicKey));
  });
}
