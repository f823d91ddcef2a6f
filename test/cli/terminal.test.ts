// What a gateway, a device, an ERP or a server puts into its texts never reaches the terminal of an operator as a command to it.
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeDiagnosis } from '../../src/cli/doctor/doctor.ts';
import { trouble } from '../../src/cli/doctor/finding.ts';
import { progressLine, textReport } from '../../src/conformance/report.ts';
import { serveOnLoopback } from '../../src/playground/erp/loopback.ts';
import { type Program, patienceMs, runProgram, startProgram, temporaryDirectory } from '../support/gateway-process.ts';

const hostile = '\x1b]0;owned\x07\x1b[2J\r\u009b31m\u202eevil\u2066\x7f';
const obeyed = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;
const shown = '\\u001b]0;owned\\u0007\\u001b[2J\\u000d\\u009b31m\\u202eevil\\u2066\\u007f';

describe('a gateway that answers with escapes', { timeout: 4 * patienceMs }, () => {
  let gateway: Awaited<ReturnType<typeof serveOnLoopback>>;
  let settings: Record<string, string>;
  let errorCode = 0;
  beforeAll(async () => {
    gateway = await serveOnLoopback(
      createServer((_request, response) => {
        const rows = [{ id: `${hostile}\nforged`, name: hostile, deviceId: hostile }];
        const lists = Object.fromEntries(
          ['merchants', 'devices', 'commands', 'orphans', 'audit', 'users', 'keys'].map((list) => [list, rows]),
        );
        response.end(JSON.stringify({ errorCode, errorMessage: hostile, ...lists }));
      }),
      0,
    );
    const url = `http://127.0.0.1:${gateway.port}/tillgate`;
    settings = { TILLGATE_PUBLIC_URL: url, TILLGATE_ADMIN_TOKEN: 'token', TILLGATE_DATA_DIR: temporaryDirectory() };
  });
  afterAll(() => gateway.stop());

  async function printed(line: string): Promise<string> {
    const { out, err } = await runProgram(line.split(' '), settings);
    expect(out + err, line).not.toMatch(obeyed);
    return out + err;
  }

  it('cannot reach the terminal by a table, as JSON or by an error', async () => {
    const table = await printed('merchant list');
    expect(table).toContain(shown);
    expect(table.trim().split('\n')).toHaveLength(2);
    expect(JSON.parse(await printed('merchant list --json'))).toMatchObject({ merchants: [{ name: hostile }] });
    errorCode = 22;
    for (const line of ['review list', 'review list --json', 'simulate --kind terminal --pair A --url']) {
      const words = line.endsWith('--url') ? `${line} ${settings['TILLGATE_PUBLIC_URL']}` : line;
      expect(await printed(words)).toContain(line.endsWith('--json') ? '\\u009b31m' : shown);
    }
    expect(await printed(`doctor --url ${settings['TILLGATE_PUBLIC_URL']}`)).toContain(shown);
  });

  it('nor by what is typed or stands in a file', async () => {
    expect(await printed(`merchant ${hostile.replaceAll(' ', '')}`)).toContain('owned');
    const faults = join(temporaryDirectory(), 'faults');
    writeFileSync(faults, hostile);
    expect(await printed(`simulate --kind terminal --faults ${faults}`)).toContain('The fault script');
  });
});

it('lets no header or path of a callback through the sink', { timeout: patienceMs }, async () => {
  const sink: Program = startProgram(['sink', '--port', '0'], { TILLGATE_DATA_DIR: temporaryDirectory() });
  const [, port] = await sink.prints(/127\.0\.0\.1:(\d+)/);
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(Buffer.from('POST /paid HTTP/1.1\r\nHost: a\r\nwebhook-id: \u009b31m\u0085x\r\ncontent-length: 0\r\n\r\n', 'latin1'));
  await sink.prints(/webhook-id=.*signature/);
  socket.destroy();
  await sink.terminate();
  expect(sink.out()).toContain('webhook-id=\\u009b31m\\u0085x');
  expect(sink.out()).not.toMatch(obeyed);
});

it('indents further lines of what servers and devices say, so that none looks like a result', () => {
  const verdict = describeDiagnosis({ verdict: 'bad', findings: [trouble('gateway', 'Away.\nok    database  Fine.', 'Ask.')] });
  expect(verdict).not.toMatch(/^ok /m);
  const finding = { verdict: 'broken' as const, id: 'a', place: 'p', anchor: 'p', clause: 'c', does: 'd', mustSee: 'm' };
  const why = 'It said\n  holds     everything';
  expect(progressLine({ ...finding, seen: [], why })).not.toMatch(/^ {2}holds/m);
  const charged = { payments: 0, refunds: 0, unclear: 0, amount: 1 };
  const report = {
    kind: 'terminal' as const,
    deviceId: 'd',
    firmware: 'v1\n40 clauses hold',
    channels: [],
    findings: [{ ...finding, seen: [why], why }],
    charged,
  };
  expect(textReport(report)).not.toMatch(/^(?:40| {2}holds)/m);
});

it('has no other way to the terminal than those two', () => {
  const writers = globSync('src/**/*.ts').filter((path) =>
    /process\.(?:stdout|stderr)\.write|console\.|pino\(/.test(readFileSync(path, 'utf8')),
  );
  // data-directory.ts: what a child process says to this one.
  expect(writers.sort()).toEqual(['src/cli/data-directory.ts', 'src/cli/logger.ts', 'src/cli/main.ts']);
});
