// deploy/tillgate.sh: doctor and backup work with the account, settings and data directory of the service. systemd is not booted here, so its
// own judge reads the properties, and a stand-in for systemd-run applies them.
import { execFile } from 'node:child_process';
import { chownSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import {
  type GatewayProcess,
  patienceMs,
  serveSettings,
  startProgram,
  startServeProcess,
  temporaryDirectory,
} from '../support/gateway-process.ts';

const run = promisify(execFile);
const deploy = fileURLToPath(new URL('../../deploy/', import.meta.url));
const script = readFileSync(`${deploy}tillgate.sh`, 'utf8');
const unit = readFileSync(`${deploy}tillgate.service`, 'utf8');
// Without groups: those of the service are asked for when it runs.
const properties = [...script.replace(/\$\(systemctl [^)]*\)/, '').matchAll(/--property="?([A-Za-z]+)=([^"\n]*?)"? \\$/gm)].map(
  ([, name = '', value = '']) => ({
    name,
    value,
  }),
);

/** Every line of `name` in a unit. */
const ofUnit = (name: string) => [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value);

it('has the account, the data and the settings of the service, by properties that systemd knows', async () => {
  for (const name of ['DynamicUser', 'User', 'UMask', 'Environment', 'EnvironmentFile', 'StateDirectoryMode'])
    expect(
      properties.filter((one) => one.name === name).map(({ value }) => value),
      name,
    ).toEqual(ofUnit(name));
  expect(properties.find(({ name }) => name === 'StateDirectory')?.value.split(' ')).toContain(ofUnit('StateDirectory')[0]);
  const [, service = ''] = /^ExecStart=(\S+) /m.exec(unit) ?? [];
  expect(script).toContain(`  ${service} `);
  const root = temporaryDirectory();
  mkdirSync(join(root, 'etc/systemd/system'), { recursive: true });
  mkdirSync(join(root, 'bin'));
  writeFileSync(join(root, 'bin/true'), '#!/bin/true\n', { mode: 0o755 });
  const lines = properties.map(({ name, value }) => `${name}=${value}`);
  const text = ['[Unit]', 'DefaultDependencies=no', '[Service]', 'ExecStart=/bin/true', ...lines, 'Propperty=x'].join('\n');
  writeFileSync(join(root, 'etc/systemd/system/command.service'), text);
  const { stderr } = await run('systemd-analyze', ['verify', '--man=no', `--root=${root}`, 'command.service']).catch(
    (error: { stderr: string }) => error,
  );
  expect(stderr.split('\n').filter((line) => line.includes('command.service:'))).toEqual([expect.stringContaining("'Propperty'")]);
});

it('has the groups that a drop-in gives the service, so that doctor reads the same certificate', async () => {
  const bin = temporaryDirectory();
  const groups = '[ "$*" = "show --property=SupplementaryGroups --value tillgate.service" ] && echo ssl-cert tls';
  writeFileSync(join(bin, 'systemctl'), `#!/bin/sh\n${groups}\n`, { mode: 0o755 });
  writeFileSync(join(bin, 'systemd-run'), '#!/bin/sh\nprintf "%s\\n" "$@"\n', { mode: 0o755 });
  const { stdout } = await run('sh', [`${deploy}tillgate.sh`, 'doctor'], { env: { PATH: `${bin}:${process.env['PATH']}` } });
  expect(stdout.split('\n')).toContain('--property=SupplementaryGroups=ssl-cert tls');
});

/** What systemd-run does with the properties of the script, without an account. */
const standIn = `#!/bin/sh
while [ $# -gt 0 ]; do
  value=\${1#--property=*=}
  case $1 in
    --property=EnvironmentFile=*) set -a; . "$value"; set +a ;;
    --property=Environment=*) export "$value" ;;
    --property=StateDirectory=*) for name in $value; do mkdir -p "STATE/$name"; done ;;
    --property=WorkingDirectory=*) cd "$value" ;;
    --*) ;;
    *) break ;;
  esac
  shift
done
exec "$@"
`;

function serviceIn(directory: string, settings: Record<string, string>) {
  const [state, bin, file] = [join(directory, 'state'), join(directory, 'bin'), join(directory, 'tillgate.env')];
  mkdirSync(bin);
  mkdirSync(join(state, 'tillgate'), { recursive: true, mode: 0o700 });
  writeFileSync(join(bin, 'systemctl'), '#!/bin/sh\n', { mode: 0o755 });
  writeFileSync(join(bin, 'systemd-run'), standIn.replaceAll('STATE', state), { mode: 0o755 });
  writeFileSync(
    file,
    Object.entries(settings)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  );
  const home = '/opt/tillgate/lib/node_modules/tillgate';
  const program = fileURLToPath(new URL('../../bin/tillgate.mjs', import.meta.url));
  const here = (text: string) =>
    text
      .replaceAll('/etc/tillgate.env', file)
      .replaceAll('/var/lib', state)
      .replaceAll(`${home}/node_modules/node/bin/node`, process.execPath)
      .replaceAll(`${home}/bin/tillgate.mjs`, program);
  writeFileSync(join(bin, 'tillgate'), here(script), { mode: 0o755 });
  const command = async (...args: string[]) => {
    const started = startProgram(args, { PATH: `${bin}:${process.env['PATH']}` }, [join(bin, 'tillgate'), args]);
    const { code } = await started.exited;
    return { code, out: started.out(), err: started.err() };
  };
  const [variable = '', dataDir = ''] = here(ofUnit('Environment')[0] ?? '').split('=');
  return { command, state, dataDir, settings: { ...settings, [variable]: dataDir } };
}

it('doctor and backup see the database of the service while it runs', { timeout: 6 * patienceMs }, async () => {
  const service = serviceIn(temporaryDirectory(), await serveSettings());
  const early = await service.command('backup', '--to', 'early.db');
  expect(early).toMatchObject({ code: 1, err: expect.stringMatching(/no database in .*state\/tillgate\. .*TILLGATE_DATA_DIR/) });
  const gateway: GatewayProcess = await startServeProcess(service.settings);
  const { findings } = JSON.parse((await service.command('doctor', '--json')).out) as { findings: { check: string; says: string }[] };
  const said = (check: string) =>
    findings
      .filter((one) => one.check === check)
      .map(({ says }) => says)
      .join();
  expect(said('database')).toMatch(/SQLite.* is reachable, up to date/);
  expect(said('disk')).toContain(service.dataDir);
  expect(await service.command('backup', '--to', 'today.db')).toMatchObject({ code: 0, out: expect.stringContaining('checked') });
  expect(existsSync(join(service.state, 'tillgate-backup', 'today.db'))).toBe(true);
  await gateway.terminate();
});

const isRoot = process.getuid?.() === 0;

/** As another user than root, where this is root, from a place that every user may read. */
async function asService(args: string[], settings: Record<string, string>) {
  const [command, ...own] = isRoot
    ? ['/usr/bin/setpriv', '--reuid=12345', '--regid=12345', '--clear-groups', process.execPath]
    : [process.execPath];
  const program = fileURLToPath(new URL('../../bin/tillgate.mjs', import.meta.url));
  const started = startProgram(args, settings, [command, [...own, program, ...args]]);
  const { code } = await started.exited;
  return { code, out: started.out(), err: started.err() };
}

it.runIf(isRoot)('a copy that root restored is refused with what to do, which helps', { timeout: 6 * patienceMs }, async () => {
  const dataDir = join(temporaryDirectory(), 'data');
  mkdirSync(dataDir, { mode: 0o700 });
  const settings = await serveSettings({ TILLGATE_DATA_DIR: dataDir });
  await (await startServeProcess(settings)).terminate();
  const copy = `${dataDir}.db`;
  copyFileSync(join(dataDir, 'tillgate.db'), copy);
  rmSync(dataDir, { recursive: true });
  mkdirSync(dataDir, { mode: 0o700 });
  chownSync(join(dataDir, '..'), 12345, 12345);
  chownSync(dataDir, 12345, 12345);
  copyFileSync(copy, join(dataDir, 'tillgate.db'));
  const advice =
    /tillgate\.db belongs to user 0, and user 12345, .* may not (?:read|write) it\. .* (chown --reference=\S+ \S+\/tillgate\.\*)/;
  for (const args of [['serve'], ['migrate', '--check'], ['backup', '--to', join(dataDir, 'copy')], ['doctor']]) {
    const { code, out, err } = await asService(args, settings);
    expect(code, args[0]).toBe(1);
    expect(out + err, args[0]).toMatch(advice);
  }
  const [, chown = ''] = advice.exec((await asService(['serve'], settings)).err) ?? [];
  await run('sh', ['-c', chown]);
  expect(statSync(join(dataDir, 'tillgate.db')).uid).toBe(12345);
  expect(await asService(['migrate'], settings)).toMatchObject({ code: 0 });
});
