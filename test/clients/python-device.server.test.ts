// The Python device passes the conformance run on MQTT and RabbitMQ at once, with kill -9 for the plug; as the firmware guide shows it at night.
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { createDesk } from '../../src/conformance/desk.ts';
import { realPace } from '../../src/conformance/exam.ts';
import { runConformance } from '../../src/conformance/run.ts';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import { patienceMs, temporaryDirectory } from '../support/gateway-process.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { startRabbitmq } from '../support/servers/rabbitmq.ts';
import { afterwards, endAll, exitOf, run } from './python-process.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const world = { clock: systemClock, random: systemRandom, logger: quietLogger };
afterEach(endAll);

describe('the Python device', () => {
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
    afterwards(() => rabbitmq.stop());
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
    afterwards(() => desk.stop());
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
