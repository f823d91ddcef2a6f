// What a start costs: it loads nothing that only some gateways need, and checks nothing that only some requests need. And what is put off
// until a request comes must not be wrong by then: every schema is compiled here.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { assemble } from '../../src/gateway.ts';
import { compileValidator } from '../../src/http/validation.ts';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import { memoryDatabase } from '../support/engines.ts';
import { quietLogger } from '../support/quiet-logger.ts';

/** Of a process that loads the whole gateway: the packages, and the parts of Node. */
function loaded(): { packages: string[]; parts: string[] } {
  const script = `
    import { registerHooks } from 'node:module';
    const packages = new Set();
    registerHooks({
      load(url, context, next) {
        const name = /\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)\\/(?!.*\\/node_modules\\/)/.exec(url)?.[1];
        if (name) packages.add(name);
        return next(url, context);
      },
    });
    await import(${JSON.stringify(join(import.meta.dirname, '../../src/gateway.ts'))});
    console.log(JSON.stringify({ packages: [...packages], parts: process.moduleLoadList }));`;
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  return JSON.parse(printed) as ReturnType<typeof loaded>;
}

it('loads no broker, no maker of documents and no client of HTTP before one is needed', () => {
  const { packages, parts } = loaded();
  expect(packages).toEqual(expect.arrayContaining(['fastify', 'kysely', 'ajv']));
  const unneeded = ['aedes', 'amqplib', 'mqtt', '@fastify/swagger', 'yaml'];
  expect(unneeded.filter((name) => packages.includes(name))).toEqual([]);
  expect(parts.filter((name) => name.includes('undici/undici'))).toEqual([]);
}, 60_000);

it('has only schemas that a request can be checked by, though they are compiled by the first one', async () => {
  const database = await memoryDatabase(systemClock);
  const world = { clock: systemClock, random: systemRandom, logger: quietLogger };
  const { server } = assemble(readConfig('sandbox', {}), world, database);
  let checked = 0;
  server.app.addHook('onRoute', ({ url, schema }) => {
    for (const httpPart of ['body', 'querystring', 'params'] as const) {
      if (schema?.[httpPart] === undefined) continue;
      expect(() => compileValidator({ schema: schema[httpPart], httpPart })({}), `${url} ${httpPart}`).not.toThrow();
      checked += 1;
    }
  });
  await server.app.ready();
  await database.close();
  expect(checked).toBeGreaterThan(100);
});
