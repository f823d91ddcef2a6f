// The lines of docs/callbacks.md for the Standard Webhooks libraries of Python and PHP, run as printed with the libraries themselves [D299].
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { signCallback } from '../../src/callbacks/signature.ts';
import { python } from '../clients/packed.ts';
import { temporaryDirectory } from '../support/gateway-process.ts';

const page = readFileSync(new URL('../../docs/callbacks.md', import.meta.url), 'utf8');
const libraries = fileURLToPath(new URL('libraries/', import.meta.url));
/** The program in that language which uses a library. */
const printed = (language: string) =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, text = '']) => text).at(-1) ?? '';

const secretOf = (text: string) => `whsec_${Buffer.from(text).toString('base64')}`;
const secret = secretOf('documentation secret of 32 bytes');
const url = 'https://erp.example/tillgate?invoice=o-1&receipt=R%261';

type Run = (secret: string, url: string, headers: Record<string, string>) => boolean;
const languages: Record<string, () => Run> = {
  python() {
    const dir = temporaryDirectory();
    writeFileSync(join(dir, 'lines.py'), printed('python'));
    const call = 'import json, sys; from lines import is_genuine; print(is_genuine(*json.load(sys.stdin)))';
    const env = { ...process.env, PYTHONPATH: `${dir}:${libraries}python` };
    return (...given) =>
      execFileSync(python, ['-B', '-c', call], { input: JSON.stringify(given), env, encoding: 'utf8' }).trim() === 'True';
  },
  php() {
    const dir = temporaryDirectory();
    mkdirSync(join(dir, 'vendor'));
    const files = ['Exception/WebhookVerificationException', 'Exception/WebhookSigningException', 'Webhook'];
    writeFileSync(join(dir, 'vendor/autoload.php'), `<?php ${files.map((file) => `require '${libraries}php/${file}.php';`).join(' ')}`);
    const call = 'echo json_encode(isGenuine(...json_decode(file_get_contents("php://stdin"), true)));';
    writeFileSync(join(dir, 'lines.php'), `${printed('php')}\n${call}\n`);
    return (...given) => execFileSync('php', ['lines.php'], { input: JSON.stringify(given), cwd: dir, encoding: 'utf8' }) === 'true';
  },
};

describe.each(Object.keys(languages))('the lines for a library in %s', (language) => {
  it('accept genuine callbacks and refuse others', () => {
    const isGenuine = languages[language]?.() ?? expect.fail();
    const timestamp = Math.floor(Date.now() / 1000);
    const of = (secrets: string[], sequence = 3, at = timestamp) => ({
      'webhook-id': 'one',
      'webhook-timestamp': String(at),
      'tillgate-sequence': String(sequence),
      'webhook-signature': secrets.map((each) => signCallback(each, { id: 'one', timestampS: at, sequence: 3, url })).join(' '),
    });
    const genuine = of([secret]);
    expect(isGenuine(secret, url, genuine)).toBe(true);
    expect(isGenuine(secret, url, of([secretOf('the secret that is replaced soon'), secret]))).toBe(true);
    if (language === 'php') {
      const capital = Object.fromEntries(
        Object.entries(genuine).map(([name, value]) => [name.replace(/\b[a-z]/g, (one) => one.toUpperCase()), value]),
      );
      expect(isGenuine(secret, url, capital)).toBe(true);
    }
    expect(isGenuine(secretOf('a secret of somebody else, 32 b.'), url, genuine)).toBe(false);
    expect(isGenuine(secret, `${url}&more`, genuine)).toBe(false);
    expect(isGenuine(secret, url, of([secret], 4))).toBe(false);
    expect(isGenuine(secret, url, of([secret], 3, timestamp - 3_600))).toBe(false);
    expect(isGenuine(secret, url, {})).toBe(false);
    expect(isGenuine(secret, url, { ...genuine, 'webhook-signature': 'v1,x' })).toBe(false);
  });
});
