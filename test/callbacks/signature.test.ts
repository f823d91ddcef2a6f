import { createHmac, randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { judgeSignature, signCallback } from '../../src/callbacks/signature.ts';

it('is made with the secret that is named, however many others were used before and since', () => {
  const secrets = Array.from({ length: 1_100 }, () => randomBytes(24));
  const named = [...secrets.map((secret) => `whsec_${secret.toString('base64')}`), 'as it is', ''];
  const keys = [...secrets, 'as it is', ''];
  for (const round of [1, 2]) {
    for (const [at, secret] of named.entries()) {
      const url = `http://erp/${round}`;
      const expected = createHmac('sha256', keys[at] ?? '')
        .update(`id.7.3.${url}`)
        .digest('base64');
      expect(signCallback(secret, { id: 'id', timestampS: 7, sequence: 3, url })).toBe(`v1,${expected}`);
      const headers = { 'webhook-id': 'id', 'webhook-timestamp': '7', 'tillgate-sequence': '3', 'webhook-signature': `v1,${expected}` };
      const got = { headers, url };
      expect(judgeSignature(secret, got, 8)).toBe('ok');
      expect(judgeSignature(named[(at + 1) % named.length] ?? '', got, 8)).toBe('WRONG');
    }
  }
});
