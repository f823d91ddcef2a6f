// The Python device passes the conformance run as the firmware guide shows it, command by command.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { patienceMs, temporaryDirectory } from '../support/gateway-process.ts';
import { until } from '../support/until.ts';
import { endAll, exitOf, run } from './python-process.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const guide = readFileSync(`${root}docs/firmware-guide.md`, 'utf8');
afterEach(endAll);

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
});
