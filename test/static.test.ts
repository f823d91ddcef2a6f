// What `npm run check` runs beside the tests: types, format, lint and dead code. CI runs `npm test` alone, so it holds a change to them here.
import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

// The type checkers collect no garbage below two gigabytes, which they do not reach: that halves their processor time.
const env = { ...process.env, GOGC: 'off', GOMEMLIMIT: '2GiB' };

describe('the code base', () => {
  it.each(['types', 'format:check', 'lint', 'knip'])(
    'passes npm run %s',
    (script) => {
      const { status, stdout, stderr } = spawnSync('npm', ['run', '-s', script], { env, encoding: 'utf8' });
      expect(status, `${stdout}${stderr}`).toBe(0);
    },
    180_000,
  );
});
