// The bench runs, and no call costs the gateway grossly more than what is recorded: CI's short form of `npm run bench`, beside the raw parts
// alone. Processor time is compared, not the clock: other tests run beside this one.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import type { Run } from '../../bench/report.ts';

const main = fileURLToPath(new URL('../../bench/main.ts', import.meta.url));

it('runs in its quick form and finds nothing grossly worse than recorded', async () => {
  const args = [main, '--quick', '--no-peers', '--only', 'commands,invoices', '--json', '--check'];
  const { code, out, err } = await new Promise<{ code: unknown; out: string; err: string }>((resolve) => {
    execFile(process.execPath, args, { maxBuffer: 1 << 24 }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, out: stdout, err: stderr }),
    );
  });
  expect(code, err).toBe(0);
  const { rows } = JSON.parse(out) as Run;
  expect(new Set(rows.map(({ group }) => group))).toEqual(
    new Set(['commands, PostgreSQL and MQTT', 'commands, embedded', 'invoices, PostgreSQL', 'invoices, embedded']),
  );
  expect(rows.filter(({ ours }) => !Number.isFinite(ours))).toEqual([]);
}, 600_000);
