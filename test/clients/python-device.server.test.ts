// The Python device passes the conformance run: as the firmware guide shows it, with kill -9 for the plug; and on MQTT and RabbitMQ at once.
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { createDesk } from '../../src/conformance/desk.ts';
import { realPace } from '../../src/conformance/exam.ts';
import { runConformance } from '../../src/conformance/run.ts';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import { freePort } from '../support/free-port.ts';
import { patienceMs, temporaryDirectory } from '../support/gateway-process.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { startRabbitmq } from '../support/servers/rabbitmq.ts';
import { until } from '../support/until.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const guide = readFileSync(`${root}docs/firmware-guide.md`, 'utf8');
const world = { clock: systemClock, random: systemRandom, logger: quietLogger };
const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of cleanUp.splice(0).reverse()) await end();
});

/** In a process group of its own, which ends with the test. */
function run(command: string, cwd: string): ChildProcess & { printed(): string } {
  const child = spawn('bash', ['-c', command], { cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
  cleanUp.push(() => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL');
    } catch {
      // It is over already.
    }
  });
  return Object.assign(child, { printed: () => text });
}

const exitOf = (child: ChildProcess) => new Promise<number | null>((resolve) => child.once('exit', resolve));

describe('the Python device', () => {
  it('passes as the firmware guide shows it', { timeout: 4 * patienceMs }, async () => {
    const [conformance = '', device = ''] = [...guide.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, command]) => command);
    const [, shown = ''] = /^```text\n([\s\S]*?)^```$/m.exec(guide) ?? [];
    const [port, mqttPort] = [await freePort(), await freePort()];
    const directory = temporaryDirectory();
    const first = run(
      conformance.replace(
        'npm run -s tillgate -- conformance',
        `${process.execPath} ${root}src/cli/main.ts conformance --port ${port} --mqtt-port ${mqttPort}`,
      ),
      directory,
    );
    const ended = exitOf(first);
    await until(() => first.printed().includes('Pair the device with the code'), patienceMs);
    run(device.replace('clients/', `${root}clients/`).replace('--pair', `--url http://127.0.0.1:${port}/tillgate --pair`), directory);
    expect([await ended, first.printed()]).toEqual([0, expect.stringContaining(shown.trim())]);
    expect(readFileSync(join(directory, 'report.html'), 'utf8')).toContain('<b>0</b> are broken');
  });

  it('passes on MQTT and RabbitMQ at once, with one journal for both', { timeout: 4 * patienceMs }, async () => {
    const known = { deviceId: systemRandom.uuid(), secret: 'a-secret-for-both-brokers' };
    const own = `^tillgate\\.device\\.${known.deviceId}$`;
    const rabbitmq = await startRabbitmq({
      plugins: [],
      users: [
        { name: 'gateway', password: 'gateway', tags: ['administrator'] },
        { name: known.deviceId, password: known.secret, permissions: { configure: own, read: own, write: '^tillgate\\.answers$' } },
      ],
    });
    cleanUp.push(() => rabbitmq.stop());
    const desk = createDesk({
      ...world,
      host: '127.0.0.1',
      port: 0,
      mqttPort: 0,
      kind: 'terminal',
      known,
      code: '7QK2-M9TD',
      queueUrl: rabbitmq.url,
    });
    cleanUp.push(() => desk.stop());
    const { baseUrl } = await desk.start();
    const directory = temporaryDirectory();
    const start = () =>
      run(
        `exec /usr/bin/python3 ${root}clients/python-device/device.py --url ${baseUrl} --pair 7QK2-M9TD --customer-seconds 2 --presence-seconds 1`,
        directory,
      );
    let device = start();
    const report = await runConformance({
      ...world,
      bench: desk.bench,
      kind: 'terminal',
      gatewayId: desk.gatewayId,
      amountBani: 100,
      pace: { ...realPace, silenceMs: 300, shortAnswerMs: 1_000 },
      connectWithinMs: patienceMs,
      person: {
        tell() {},
        async reboot() {
          const ended = exitOf(device);
          device.kill('SIGKILL');
          await ended;
          device = start();
        },
      },
      onBegin() {},
      onFinding() {},
    });
    expect(report.channels, device.printed()).toEqual(['mqtt', 'queue']);
    const others = report.findings.filter(({ verdict }) => verdict !== 'holds');
    expect(others.map(({ id, verdict, why }) => [id, verdict, why])).toEqual([
      ['reply-to', 'untested', expect.any(String)],
      ['recaller-gets-the-ending', 'untested', expect.any(String)],
      ['answers-travel', 'untested', expect.any(String)],
    ]);
  });
});
