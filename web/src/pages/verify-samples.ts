// How an ERP verifies a callback, in three languages: the same few lines each, with the pitfalls in them.

export const samples: { name: string; code: string }[] = [
  {
    name: 'Node.js',
    code: `import { createHmac, timingSafeEqual } from 'node:crypto';

// url: the public address as it was called, with scheme and host
export function isGenuine(headers, url, secret) {
  const id = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  const sequence = headers['tillgate-sequence'];
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) < 300)) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const expected = createHmac('sha256', key).update(\`\${id}.\${timestamp}.\${sequence}.\${url}\`).digest();
  return (headers['webhook-signature'] ?? '').split(' ').some((signature) => {
    const given = Buffer.from(signature.replace(/^v1,/, ''), 'base64');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}`,
  },
  {
    name: 'Python',
    code: `import base64, hashlib, hmac, time

# url: the public address as it was called, with scheme and host
def is_genuine(headers, url, secret):
    stamp = headers["webhook-timestamp"]
    if abs(time.time() - int(stamp)) >= 300:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f'{headers["webhook-id"]}.{stamp}.{headers["tillgate-sequence"]}.{url}'.encode()
    expected = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    return any(hmac.compare_digest(given.removeprefix("v1,"), expected)
               for given in headers["webhook-signature"].split())`,
  },
  {
    name: 'PHP',
    code: `<?php
// $url: the public address as it was called, with scheme and host
function isGenuine(array $headers, string $url, string $secret): bool {
    $stamp = $headers['webhook-timestamp'];
    if (abs(time() - (int) $stamp) >= 300) return false;
    $key = base64_decode(preg_replace('/^whsec_/', '', $secret));
    $signed = $headers['webhook-id'] . '.' . $stamp . '.' . $headers['tillgate-sequence'] . '.' . $url;
    $expected = base64_encode(hash_hmac('sha256', $signed, $key, true));
    foreach (explode(' ', $headers['webhook-signature']) as $given) {
        if (hash_equals($expected, preg_replace('/^v1,/', '', $given))) return true;
    }
    return false;
}`,
  },
];
