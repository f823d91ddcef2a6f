// Builds the image of deploy/Containerfile and starts the gateway in it, on a machine that cannot pull images: the base is built from
// Debian (debootstrap) and the installed Node and npm. Needs root, buildah and debootstrap. Takes minutes, so it is not part of CI. `--base
// NAME` uses an image that buildah has or can pull instead.
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({ options: { base: { type: 'string' }, rootfs: { type: 'string' } } });
const work = mkdtempSync(join(tmpdir(), 'tillgate-container-'));
/** All files of buildah are below one directory, which is deleted afterwards. */
const storage = ['--storage-driver', 'vfs', '--root', join(work, 'images'), '--runroot', join(work, 'run')];
const buildah = (...args: string[]) =>
  execFileSync('buildah', [...storage, ...args], { stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' }).trim();
const say = (line: string) => console.log(`[container] ${line}`);

/** Debian with Node and npm at the paths of the official image. `--rootfs` names an existing Debian of debootstrap. */
function makeBase(): string {
  const debian = values.rootfs ?? join(work, 'debian');
  if (!existsSync(debian)) {
    say('debootstrap');
    execFileSync('debootstrap', ['--variant=minbase', '--include=ca-certificates', 'bookworm', debian], { stdio: 'ignore' });
  }
  const local = join(debian, 'usr/local');
  mkdirSync(join(local, 'lib/node_modules'), { recursive: true });
  cpSync(process.execPath, join(local, 'bin/node'));
  const npm = dirname(dirname(realpathSync(execFileSync('which', ['npm'], { encoding: 'utf8' }).trim())));
  cpSync(npm, join(local, 'lib/node_modules/npm'), { recursive: true });
  rmSync(join(local, 'bin/npm'), { force: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(local, 'bin/npm'));
  // If the registry uses a private certificate authority, the build needs it too.
  const authorities = process.env['NODE_EXTRA_CA_CERTS'];
  if (authorities !== undefined) cpSync(authorities, join(local, 'authorities.pem'), { dereference: true });
  const container = buildah('from', 'scratch');
  buildah('add', '--quiet', container, debian, '/');
  if (authorities !== undefined) buildah('config', '--env', 'NODE_EXTRA_CA_CERTS=/usr/local/authorities.pem', container);
  buildah('commit', '--quiet', '--rm', container, 'tillgate-base');
  return 'localhost/tillgate-base';
}

/** As the image starts it, except for the port: `serve` with embedded parts, called from here. */
async function tryImage(): Promise<void> {
  const container = buildah('from', '--pull-never', 'localhost/tillgate');
  const settings = ['TILLGATE_HOST=127.0.0.1', 'TILLGATE_PORT=18080', 'TILLGATE_MQTT_PORT=11883', `TILLGATE_ADMIN_TOKEN=${'t'.repeat(32)}`];
  const environment = settings.flatMap((setting) => ['--env', setting]);
  const command = ['node', '--max-semi-space-size=16', '/opt/tillgate/bin/tillgate.mjs'];
  say(`version ${buildah('run', '--isolation', 'chroot', container, '--', ...command, '--version')}`);
  say(`user ${buildah('run', '--isolation', 'chroot', container, '--', 'id', '-u')}`);
  const gateway = spawn('buildah', [...storage, 'run', '--isolation', 'chroot', ...environment, container, '--', ...command, 'serve'], {
    stdio: 'inherit',
    detached: true,
  });
  try {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await fetch('http://127.0.0.1:18080/tillgate/health/ready').then(
        (response) => response.json(),
        (error: unknown) => error,
      );
      if (!(answer instanceof Error)) {
        say(`ready says ${JSON.stringify(answer)}`);
        break;
      }
      if (attempt === 120 || gateway.exitCode !== null) throw answer;
      await sleep(1_000);
    }
  } finally {
    // The gateway in the chroot belongs to the group of buildah.
    if (gateway.pid !== undefined && gateway.exitCode === null) process.kill(-gateway.pid, 'SIGTERM');
    await new Promise((resolve) => (gateway.exitCode === null ? gateway.once('exit', resolve) : resolve(undefined)));
  }
}

try {
  writeFileSync(join(work, 'policy.json'), '{"default":[{"type":"insecureAcceptAnything"}]}');
  const base = values.base ?? makeBase();
  say(`building on ${base}`);
  const args = ['build', '--isolation', 'chroot', '--signature-policy', join(work, 'policy.json'), '--build-arg', `BASE=${base}`];
  const from = values.base === undefined ? ['--pull-never'] : [];
  execFileSync('buildah', [...storage, ...args, ...from, '-f', 'deploy/Containerfile', '-t', 'tillgate', '.'], {
    cwd: root,
    stdio: 'inherit',
  });
  await tryImage();
  say('the image is built, and a gateway in it is ready');
} finally {
  rmSync(work, { recursive: true, force: true });
}
