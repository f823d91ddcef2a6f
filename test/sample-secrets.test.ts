// No gateway runs with a token or password that anybody can read in what is shipped: each sample in deploy/, README, docs, .env.example and
// examples is collected from the files and refused by `serve`, as each token and as the password in each address.
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ConfigError, readConfig } from '../src/config.ts';
import { settings } from '../src/settings.ts';

const files = globSync(
  '{README.md,.env.example,deploy/**/*.*,docs/*.md,examples/**/*.*,clients/*.md,clients/{typescript,python}/*.md}',
).filter((path) => !/node_modules|alerts|grafana/.test(path));

/** How a sample stands in a file. */
const ways = [
  // NAME=value, NAME: value, "name": "value"
  /(?:token|passw(?:or)?d|secret|_pass|api_?key)["']?[ ]*[:=][ ]*["'`]?(\$\([^)\n]*\)|\$\{[^}\n]*\}|[^\s"'`,;|)&]+)/gi,
  // In an address, and as an option of curl.
  /:\/\/[\w%.-]+:(\$\{[^}\n]*\}|[^\s@/"'`{}]+)@/g,
  /\s-u (?:[\w-]+):([^\s"']+)/g,
  // Words that stand for one.
  /\b(change-me[\w-]*)/gi,
  /\b(whsec_[\w+/=.…]+)/g,
  /"(\$\w+_PASSWORD)"/g,
];
/** Code and prose that the first of the ways takes for a value. */
const isNoSample = (text: string) =>
  /^(?:#|>|[\w.>{$-]+[.(>].*\(?|\?\}@.*|whsec_\/|drop|the|set|OLD|none|false|openssl|\$\$\w+|\$KEY.*)$/.test(text) &&
  !/\.{3}$|^\$[({]/.test(text);

function collected(): Map<string, string> {
  const found = new Map<string, string>();
  for (const path of files)
    for (const way of ways)
      for (const [, text = ''] of readFileSync(path, 'utf8').matchAll(way)) if (!isNoSample(text)) found.set(text, path);
  return found;
}

function problemsOf(environment: Record<string, string>, mode: 'serve' | 'sandbox' = 'serve'): readonly string[] {
  try {
    readConfig(mode, environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

const good = 'a4b1d8c0f2e94c75a1b3e6d7f8091a2b';
const sound = { TILLGATE_ADMIN_TOKEN: good, TILLGATE_BROKER_TOKEN: good };
const tokens = Object.values(settings).flatMap(({ variable }) => (variable.endsWith('_TOKEN') ? [variable] : []));
const addresses = {
  TILLGATE_DATABASE_URL: 'postgres://t:PASSWORD@127.0.0.1/t',
  TILLGATE_MQTT_URL: 'mqtt://t:PASSWORD@127.0.0.1',
  TILLGATE_MOSQUITTO_ADMIN_URL: 'mqtt://t:PASSWORD@127.0.0.1',
  TILLGATE_QUEUE_URL: 'amqp://t:PASSWORD@127.0.0.1',
  TILLGATE_RABBITMQ_API_URL: 'http://t:PASSWORD@127.0.0.1',
};
const withPassword = (url: string, password: string) => url.replace('PASSWORD', () => encodeURIComponent(password));
const beside = { ...sound, TILLGATE_MQTT_URL: 'mqtt://127.0.0.1', TILLGATE_QUEUE_URL: 'amqp://127.0.0.1' };

describe('a sample from what is shipped', () => {
  const samples = collected();

  it('is found in the files', () => {
    for (const known of [
      'change-me',
      'change-me-too',
      'change-me-change-me-change-me',
      '...',
      'password',
      'Zk1vT3V0c2lkZS1pbnNpZGUtc2VjcmV0LWV4YW1wbGU',
    ])
      expect([...samples.keys()]).toContain(known);
    expect(tokens.sort()).toEqual(['TILLGATE_ADMIN_TOKEN', 'TILLGATE_BROKER_TOKEN', 'TILLGATE_METRICS_TOKEN', 'TILLGATE_TRACES_TOKEN']);
  });

  it.each([...samples])('%s (%s) is refused by serve', (sample) => {
    for (const token of tokens) {
      // So long that it is refused for what it is, too.
      for (const text of [sample, `${sample}-${sample}-${sample}`])
        expect(problemsOf({ ...sound, [token]: text }).join(), `${token}=${text}`).toContain(token);
    }
    for (const [variable, url] of Object.entries(addresses)) {
      const [problem = '', ...others] = problemsOf({ ...beside, [variable]: withPassword(url, sample) });
      expect(problem, variable).toContain(`The password in ${variable} is a published sample`);
      expect(others).toEqual([]);
    }
  });
});

it('leaves real ones, and the sandbox, alone', () => {
  const real = [good, 'q7$Ab{x}!c', 'V8=/+xk(2)$', 'Passwort-des-Hauses', 'sehr.geheim'];
  for (const password of real)
    for (const [variable, url] of Object.entries(addresses))
      expect(problemsOf({ ...beside, [variable]: withPassword(url, password) }), `${variable} ${password}`).toEqual([]);
  expect(problemsOf({ TILLGATE_ADMIN_TOKEN: 'change-me' }, 'sandbox')).toEqual([]);
});

it('refuses a sample as the password among the parameters of the database, and no address without one', () => {
  expect(problemsOf({ ...sound, TILLGATE_DATABASE_URL: 'postgres://127.0.0.1/t?password=change-me' })).toHaveLength(1);
  expect(problemsOf({ ...sound, TILLGATE_DATABASE_URL: 'postgres://t@127.0.0.1/t' })).toEqual([]);
});

it.each(['TILLGATE_PUBLIC_URL', 'TILLGATE_MQTT_PUBLIC_URL', 'TILLGATE_QUEUE_PUBLIC_URL'])(
  '%s with a login is refused, and not printed',
  (variable) => {
    const scheme = { TILLGATE_PUBLIC_URL: 'https', TILLGATE_MQTT_PUBLIC_URL: 'mqtts', TILLGATE_QUEUE_PUBLIC_URL: 'wss' }[variable];
    for (const mode of ['serve', 'sandbox'] as const)
      for (const login of ['canary-user:canary-word@', 'canary-user@', ':canary-word@']) {
        const problems = problemsOf({ ...sound, [variable]: `${scheme}://${login}pay.example.md/tillgate` }, mode);
        expect(problems).toEqual([expect.stringMatching(`^${variable} must not hold a login`)]);
        expect(problems.join()).not.toContain('canary');
      }
  },
);

it.each([
  ['TILLGATE_PUBLIC_URL', 'https://pay.example.md/tillgate?token=canary', 'must have no part that begins with'],
  ['TILLGATE_PUBLIC_URL', 'https://pay.example.md/tillgate#canary', 'must have no part that begins with'],
  ['TILLGATE_MQTT_PUBLIC_URL', 'mqtts:user:canary@pay.example.md', 'must name a host'],
  ['TILLGATE_MQTT_PUBLIC_URL', 'mqtts://pay.example.md?canary', 'must have no part that begins with'],
  ['TILLGATE_QUEUE_PUBLIC_URL', 'amqps:user:canary@pay.example.md', 'must name a host'],
  ['TILLGATE_HOSTS', 'https://user:canary@pay.example.md', 'must be a list of host names'],
])('%s as %s is refused, and not printed', (variable, value, sentence) => {
  const problems = problemsOf({ ...sound, [variable]: value });
  expect(problems).toEqual([expect.stringContaining(`${variable} ${sentence}`)]);
  expect(problems.join()).not.toContain('canary');
});
