// The desk on real sockets: a device pairs with the code, is on MQTT and on the built-in queue, and is taken through everything.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectAsync } from 'mqtt';
import { afterEach, describe, expect, it } from 'vitest';
import { conformance } from '../../src/cli/conformance.ts';
import { createDesk, type Desk } from '../../src/conformance/desk.ts';
import { realPace } from '../../src/conformance/exam.ts';
import { type RunReport, runConformance } from '../../src/conformance/run.ts';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import type { DeviceKind } from '../../src/link/protocol.ts';
import { startVirtualDevice } from '../../src/virtual/run.ts';
import { quietLogger } from '../support/quiet-logger.ts';

const world = { clock: systemClock, random: systemRandom, logger: quietLogger };
const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of cleanUp.splice(0).reverse()) await end();
});

async function openDesk(kind: DeviceKind): Promise<{ desk: Desk; baseUrl: string }> {
  const desk = createDesk({ ...world, host: '127.0.0.1', port: 0, mqttPort: 0, kind, code: '7QK2-M9TD' });
  const { baseUrl } = await desk.start();
  cleanUp.push(() => desk.stop());
  return { desk, baseUrl };
}

async function pair(baseUrl: string, code: string) {
  const body = JSON.stringify({ code });
  const response = await fetch(`${baseUrl}/pairing`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  return (await response.json()) as { errorCode: number; deviceId: string; secret: string; mqtt: { url: string }; queue: { url: string } };
}

function directory(): string {
  const made = mkdtempSync(join(tmpdir(), 'tillgate-desk-'));
  cleanUp.push(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

describe('the desk', () => {
  it.each(['terminal', 'register'] as const)(
    'takes a virtual %s through everything on the real wire',
    async (kind) => {
      const { desk, baseUrl } = await openDesk(kind);
      const { deviceId, secret, mqtt, queue } = await pair(baseUrl, ' 7qk2 m9td ');
      const device = await startVirtualDevice({
        ...world,
        kind,
        deviceId,
        secret,
        name: 'On the desk',
        mqttUrl: mqtt.url,
        queueUrl: queue.url,
        stateDir: directory(),
        timing: { customerMs: 2_500 },
        presenceEveryMs: 1_000,
      });
      cleanUp.push(() => device.stop());
      const report = await runConformance({
        ...world,
        bench: desk.bench,
        kind,
        gatewayId: desk.gatewayId,
        amountBani: 100,
        pace: { ...realPace, silenceMs: 200, shortAnswerMs: 1_000 },
        connectWithinMs: 10_000,
        person: { tell() {}, reboot: () => device.crash(), lockOut: (ms) => desk.lockOut?.(ms) ?? Promise.resolve() },
        onBegin() {},
        onFinding() {},
      });
      expect(report.findings.filter(({ verdict }) => verdict !== 'holds')).toEqual([]);
    },
    60_000,
  );

  it('pairs once, and refuses every other device', async () => {
    const { desk, baseUrl } = await openDesk('terminal');
    expect(await pair(baseUrl, 'AAAA-AAAA')).toMatchObject({ errorCode: 20 });
    const { mqtt } = await pair(baseUrl, desk.code);
    expect(await pair(baseUrl, desk.code)).toMatchObject({ errorCode: 20 });
    const login = { clientId: desk.deviceId, username: desk.deviceId, reconnectPeriod: 0 };
    await expect(connectAsync(mqtt.url, { ...login, password: 'wrong' })).rejects.toThrow();
    const client = await connectAsync(mqtt.url, { ...login, password: desk.secret });
    await client.endAsync(true);
    expect(desk.bench.logins).toMatchObject([{ will: undefined, isClean: true, keepaliveS: 60 }]);
  });
});

describe('tillgate conformance', () => {
  async function run(...args: string[]) {
    const out: string[] = [];
    const err: string[] = [];
    const io = { out: (text: string) => out.push(text), err: (text: string) => err.push(text), isInteractive: false };
    const code = await conformance(args, { ...io, world: { ...world, endProcess: () => {} } });
    return { code, out: out.join('\n'), err: err.join('\n') };
  }
  const anywhere = ['--port', '0', '--mqtt-port', '0', '--wait-s', '0'];

  it('reports a device that never came, as text, JSON and a page', async () => {
    const html = join(directory(), 'report.html');
    const { code, out, err } = await run(...anywhere, '--json', '--html', html, '--kind', 'register');
    expect(code).toBe(1);
    const report = JSON.parse(out) as RunReport;
    expect(report).toMatchObject({ kind: 'register', broken: 1, holds: 0 });
    expect(report.findings[0]).toMatchObject({ id: 'presence-at-connect', verdict: 'broken', why: 'No presence arrived.' });
    expect(new Set(report.findings.slice(1).map(({ verdict }) => verdict))).toEqual(new Set(['untested']));
    expect(err).toContain('prints one receipt over 1.00 MDL');
    expect(err).toMatch(/Pair the device with the code .{4}-.{4} at http:\/\/127\.0\.0\.1:\d+\/tillgate/);
    expect(readFileSync(html, 'utf8')).toContain('<h1>Conformance run</h1>');
    expect((await run(...anywhere)).out).toMatch(/0 clauses hold, 1 are broken, \d+ could not be tested\.\n0 payments of 1\.00 MDL/);
  });

  it('charges nothing beyond this machine without --yes, and says what it would', async () => {
    for (const args of [
      ['--host', '192.0.2.1'],
      ['--mqtt-url', 'mqtt://127.0.0.1:1'],
      ['--queue-url', 'amqp://127.0.0.1:1'],
    ]) {
      const { code, out, err } = await run(...anywhere, ...args, '--amount', '2.50');
      expect([code, err]).toEqual([2, expect.stringContaining('--yes')]);
      expect(out).toContain('charges 2.50 MDL three times');
    }
  });

  it.each([
    [['--kind', 'lamp'], '--kind'],
    [['--amount', '0'], '--amount'],
    [['--host', '0.0.0.0'], '--host'],
    [['--device-id', '11111111-1111-4111-8111-111111111111'], 'belong together'],
    [['--queue-url', 'nowhere'], 'no address'],
    [['--port', 'x'], '--port'],
    [['--what'], 'Usage: tillgate conformance'],
  ])('tells what is wrong with %j', async (args, sentence) => {
    await expect(run(...args)).rejects.toThrow(sentence);
  });

  it('has a help text', async () => {
    expect(await run('--help')).toMatchObject({ code: 0, out: expect.stringContaining('--reboot-command') });
  });
});
