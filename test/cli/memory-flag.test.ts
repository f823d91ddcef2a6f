// Whoever starts the program starts its Node with the same flag [D124]; who forgets it runs a gateway that takes more memory than was measured.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { memoryFlag } from '../support/gateway-process.ts';

const root = join(import.meta.dirname, '../..');

it.each([
  ['bin/tillgate.mjs', `#!/usr/bin/env -S node ${memoryFlag}\n`],
  ['bin/tillgate.mjs', `'${memoryFlag}'`],
  ['package.json', `"start": "node ${memoryFlag} bin/tillgate.mjs sandbox"`],
  ['package.json', `"tillgate": "node ${memoryFlag} bin/tillgate.mjs"`],
  ['deploy/tillgate.service', `/node ${memoryFlag} /opt/`],
  ['deploy/Containerfile', `ENTRYPOINT ["node", "${memoryFlag}", `],
  ['scripts/container.ts', `'node', '${memoryFlag}', `],
  ['docs/operating.md', `node ${memoryFlag} `],
])('is said by %s as %s', (path, words) => {
  expect(readFileSync(join(root, path), 'utf8')).toContain(words);
});
