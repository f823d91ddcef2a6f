// deploy/tillgate.service as systemd itself judges it. Nothing is started: that needs a machine that was booted by systemd.
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { memoryFlag, temporaryDirectory } from '../support/gateway-process.ts';

const run = promisify(execFile);
const unit = fileURLToPath(new URL('../../deploy/tillgate.service', import.meta.url));
const text = readFileSync(unit, 'utf8');

it('is as locked down as a gateway can be', async () => {
  const { stdout } = await run('systemd-analyze', ['security', '--offline=true', '--no-pager', unit]);
  expect(Number(/exposure level for tillgate\.service: ([\d.]+)/.exec(stdout)?.[1])).toBeLessThanOrEqual(1.5);
});

/** What systemd says of the unit, in a root of its own, where the program is at its place. */
async function complaintsAbout(written: string): Promise<string[]> {
  const root = temporaryDirectory();
  const put = (path: string, content: string, mode = 0o644) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content, { mode });
  };
  const [, node = '', program = ''] = /^ExecStart=(\S+) --\S+ (\S+) serve$/m.exec(written) ?? [];
  for (const path of [node, program]) put(path, '#!/bin/true\n', 0o755);
  put('etc/systemd/system/tillgate.service', written);
  for (const target of ['multi-user', 'network-online', 'basic', 'sysinit', 'shutdown'])
    put(`etc/systemd/system/${target}.target`, '[Unit]\nDescription=There\nDefaultDependencies=no\n');
  const said = await run('systemd-analyze', ['verify', '--man=no', `--root=${root}`, 'tillgate.service']).then(
    ({ stderr }) => stderr,
    ({ stderr }: { stderr: string }) => stderr,
  );
  return said.split('\n').filter((line) => line.includes('tillgate.service'));
}

it('is a unit without mistakes', async () => {
  expect(await complaintsAbout(text)).toEqual([]);
  const misspelt = await complaintsAbout(text.replace('ProtectSystem=', 'ProtectSistem='));
  expect(misspelt).toEqual([expect.stringContaining("'ProtectSistem'")]);
});

it('starts the program that npm installs, on the Node that came with it, and waits longer for its end than that takes', () => {
  expect(text).toContain('npm install --global --prefix /opt/tillgate');
  const home = '/opt/tillgate/lib/node_modules/tillgate';
  expect(text).toContain(`ExecStart=${home}/node_modules/node/bin/node ${memoryFlag} ${home}/bin/tillgate.mjs serve`);
  const { drainS, stopGraceS } = readConfig('serve', { TILLGATE_ADMIN_TOKEN: 'long-enough-to-be-a-token' });
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(text)?.[1])).toBeGreaterThanOrEqual(drainS + stopGraceS + 15);
});
