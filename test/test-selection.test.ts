// What a run of the tests leaves out: the long ones by a list that keeps up with the files, and what needs a server that is not there.
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import {
  beginningFiles,
  excludedBy,
  filesOnNewCore,
  filesWithShop,
  leftOutLine,
  leftOutWithout,
  longerTests,
  longTests,
  mixed,
} from '../scripts/test-selection.ts';
import { neededServers } from '../scripts/test-servers.ts';
import { notOnTheNewCore } from './support/not-on-the-new-core.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const place = mkdtempSync(join(tmpdir(), 'tillgate-selection-'));
afterAll(() => rmSync(place, { recursive: true, force: true }));
const put = (path: string, text: string) => {
  mkdirSync(dirname(join(place, path)), { recursive: true });
  writeFileSync(join(place, path), text);
};

describe('the long tests', () => {
  it('are files that are there, each once', () => {
    expect(longTests.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    expect(new Set(longTests).size).toBe(longTests.length);
  });

  it('and those that are longer at night are files that ask for it, and run by day as well', () => {
    const asking = globSync('test/**/*.test.ts', { cwd: root, exclude: ['**/node_modules/**'] })
      .filter((path) => /^import .*at-length/m.test(readFileSync(join(root, path), 'utf8')))
      .sort();
    expect(longerTests).toEqual(asking);
    expect(longerTests.filter((path) => longTests.includes(path))).toEqual([]);
  });

  it('are left out of a short run alone', () => {
    expect([excludedBy('short'), excludedBy('long'), excludedBy('all')]).toEqual([longTests, [], []]);
  });
});

describe('the order of files', () => {
  const names = (folder: string, count: number) => Array.from({ length: count }, (_, at) => `/home/x/test/${folder}/${at}.test.ts`);
  const waiters = names('faults', 4);
  const others = names('ledger', 20);

  it('begins the short files that compute for long before the other files that compute', () => {
    const files = ['test/kernel/a.test.ts', 'test/static.test.ts', 'test/kernel/b.test.ts', 'test/faults/c.test.ts'];
    const order = mixed(files, (path) => path);
    expect(order.indexOf('test/static.test.ts')).toBeLessThan(order.indexOf('test/kernel/a.test.ts'));
  });

  it('spreads those that wait over the first part of the run, and keeps both groups in their order', () => {
    const order = mixed([...others, ...waiters], (path) => path);
    expect(order.flatMap((path, at) => (waiters.includes(path) ? [at] : []))).toEqual([0, 4, 8, 12]);
    expect(order.filter((path) => waiters.includes(path))).toEqual(waiters);
    expect(order.filter((path) => others.includes(path))).toEqual(others);
  });

  it.each([
    [waiters, []],
    [[], others],
    [waiters, others.slice(0, 1)],
  ])('loses no file', (some, more) => {
    expect(mixed([...some, ...more], (path) => path).toSorted()).toEqual([...some, ...more].toSorted());
  });
});

describe('the files that a run begins with, before it has servers and a program', () => {
  it('are those that use neither, themselves or by an import, and neither wait nor are long', () => {
    put('test/b/plain.test.ts', "import { x } from '../support/plain.ts';\n");
    put('test/support/plain.ts', "import { y } from '../../src/first.ts';\n");
    put('src/first.ts', "import { engines } from '../test/support/engines.ts';\n");
    put('test/b/both.test.ts', "import { engines } from '../support/engines.ts';\n");
    put('test/b/processes.test.ts', "import { run } from '../../simulation/run.ts';\n");
    put('simulation/run.ts', "import { startProgram } from '../test/support/gateway-process.ts';\n");
    put('test/b/address.test.ts', "process.env['TILLGATE_TEST_POSTGRES_URL'];\n");
    put('test/b/later.test.ts', "await import('../support/servers/nginx.ts');\n");
    put('test/b/named.server.test.ts', '');
    put('test/e2e/waits.test.ts', '');
    put('test/fuzz/fuzz.test.ts', '');
    expect(beginningFiles(place)).toEqual(['test/b/plain.test.ts']);
  });

  it('contain the static checks, which compute for long', () => {
    expect(beginningFiles(root)).toEqual(expect.arrayContaining(['test/static.test.ts', 'test/tidy.test.ts']));
  });
});

describe('the files that are run once more on the new core', () => {
  it('are those that use one of the shops, themselves or by an import, and are not long', () => {
    put('test/support/sale-world.ts', '');
    put('test/invoices/shop.ts', '');
    put('test/n/own.test.ts', "import { x } from '../support/sale-world.ts';\n");
    put('test/n/by-import.test.ts', "import { x } from './steps.ts';\n");
    put('test/n/steps.ts', "import { y } from '../invoices/shop.ts';\n");
    put('test/n/neither.test.ts', "import { x } from '../support/till.ts';\n");
    put('test/conformance/silence.test.ts', "import { x } from '../support/sale-world.ts';\n");
    expect(filesWithShop(place)).toEqual(['test/n/by-import.test.ts', 'test/n/own.test.ts']);
  });

  it('are all but the listed ones, and what is listed would be run otherwise', () => {
    const all = filesWithShop(root);
    const listed = Object.keys(notOnTheNewCore);
    expect(listed.filter((path) => !all.includes(path))).toEqual([]);
    const withShop = filesOnNewCore(root).filter((path) => all.includes(path));
    expect(withShop).toEqual(all.filter((path) => !listed.includes(path)));
    expect(withShop.length).toBeGreaterThan(20);
    const withProcesses = filesOnNewCore(root).filter((path) => !all.includes(path));
    expect(withProcesses.length).toBeGreaterThan(0);
    for (const path of withProcesses) expect(readFileSync(join(root, path), 'utf8')).toContain('gateway-process');
  });
});

describe('without a server', () => {
  const sign = { name: 'RabbitMQ', sign: /rabbitmq/i };

  it('the files are left out that need it, themselves or by what they import, and their tests are counted', () => {
    put('test/a/own.server.test.ts', "startRabbitmq();\n  it('one', () => {});\n  it.each([])('two', () => {});\n");
    put('test/a/by-import.server.test.ts', "import { x } from '../support/helper.ts';\nit('three', () => {});\n");
    put('test/support/helper.ts', "import { y } from './deeper.ts';\nimport { z } from './helper.ts';\n");
    put('test/support/deeper.ts', "const name = 'RABBITMQ_HOME';\n");
    put('test/support/engines.ts', '// rabbitmq\n');
    put('test/a/other.server.test.ts', "import { e } from '../support/engines.ts';\nit('four', () => {});\n");
    put('test/a/embedded.test.ts', "// rabbitmq\nit('five', () => {});\n");
    expect(leftOutWithout(place, [sign])).toEqual([
      { path: 'test/a/by-import.server.test.ts', tests: 1 },
      { path: 'test/a/own.server.test.ts', tests: 2 },
    ]);
    expect(leftOutWithout(place, [{ name: 'nginx', sign: /nginx/ }])).toEqual([]);
  });

  it('a line says which, why and how many', () => {
    const files = [
      { path: 'a', tests: 2 },
      { path: 'b', tests: 3 },
    ];
    expect(leftOutLine([sign], files, 'not root')).toBe(
      'left out, because RabbitMQ cannot be installed here (not root): 2 files with 5 tests.',
    );
    const postgres = { name: 'PostgreSQL', sign: /postgres/ };
    expect(leftOutLine([postgres, sign], files, 'no apt-get')).toMatch(/PostgreSQL, RabbitMQ .* SQLite alone\.$/);
  });

  it('every file that is named for a server is left out with some server, or it would fail where none is', () => {
    const named = globSync('test/**/*.server.test.ts', { cwd: root, exclude: ['**/node_modules/**'] }).sort();
    expect(named.length).toBeGreaterThan(40);
    expect(leftOutWithout(root, neededServers).map(({ path }) => path)).toEqual(named);
  });
});
