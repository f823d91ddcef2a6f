import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { exampleText, settingsTable } from '../scripts/config-docs.ts';
import { ConfigError, readConfig } from '../src/config.ts';
import { isLoopback } from '../src/kernel/network-of.ts';
import { isMqttPlainOpen, trustedProxiesOf } from '../src/setting-dangers.ts';
import { settings } from '../src/settings.ts';
import { moldovanVat } from '../src/virtual/books/vat.ts';

const known = new Set(Object.values(settings).map(({ variable }) => variable));
const token = 'a-token-that-nobody-would-guess-0123456789';

function problemsOf(mode: 'sandbox' | 'serve', environment: Record<string, string>): readonly string[] {
  try {
    readConfig(mode, environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('the configuration', () => {
  it('has the defaults that the issue fixes', () => {
    const config = readConfig('serve', { TILLGATE_ADMIN_TOKEN: token });
    expect(config).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      basePath: '/tillgate',
      callbackDelaysS: [60, 300, 1800, 3600, 21600],
      callbackAllow: [],
      invoiceAuth: 'payd',
      timeZone: 'Europe/Chisinau',
      scanGraceS: 0,
      rateLimit: 200,
      mqttPort: 1883,
    });
    expect(config.databaseUrl).toBeUndefined();
    expect(config.banks).toHaveLength(4);
  });

  it('gives a strict sandbox what an ERP meets at serve, and leaves it callbacks to this machine [D152]', () => {
    const strict = readConfig('sandbox', { TILLGATE_SANDBOX_STRICT: 'yes' });
    const serve = readConfig('serve', { TILLGATE_ADMIN_TOKEN: token });
    expect(strict).toMatchObject({ invoiceAuth: serve.invoiceAuth, callbackDelaysS: serve.callbackDelaysS });
    expect(strict.callbackAllow).not.toEqual([]);
    expect(readConfig('sandbox', { TILLGATE_SANDBOX_STRICT: 'yes', TILLGATE_INVOICE_AUTH: 'all' }).invoiceAuth).toBe('all');
  });

  it('is more open in the sandbox, which listens on loopback', () => {
    const config = readConfig('sandbox', {});
    expect(config.invoiceAuth).toBe('open');
    expect(config.callbackAllow).toEqual(['127.0.0.0/8', '::1/128']);
    expect(isLoopback(config.host)).toBe(true);
  });

  it('reports all problems together', () => {
    const problems = problemsOf('sandbox', { TILLGATE_PORT: '99999', TILLGATE_RATE_LIMIT: 'many', TILLGATE_CALLBACK_ALLOW: '10.0.0.0' });
    expect(problems).toHaveLength(3);
    expect(problems[0]).toBe('TILLGATE_PORT must be a whole number from 0 to 65535; it is "99999".');
  });

  it.each([
    ['TILLGATE_BASE_PATH', 'tillgate'],
    ['TILLGATE_BASE_PATH', '/a/b'],
    ['TILLGATE_DATABASE_URL', 'mysql://x'],
    ['TILLGATE_INVOICE_AUTH', 'none'],
    ['TILLGATE_TIME_ZONE', 'Mars/Olympus'],
    ['TILLGATE_CALLBACK_DELAYS_S', '60,x'],
    ['TILLGATE_BANKS', 'maib'],
    ['TILLGATE_MQTT_URL', 'http://x'],
    ['TILLGATE_LOG_LEVEL', 'loud'],
  ])('refuses %s=%s', (variable, value) => {
    expect(problemsOf('sandbox', { [variable]: value })[0]).toContain(variable);
  });

  it('never repeats a secret in a problem', () => {
    const [problem] = problemsOf('sandbox', { TILLGATE_DATABASE_URL: 'mysql://root:canary@host/db' });
    expect(problem).not.toContain('canary');
  });

  it('reads dated VAT rates, which laws change', () => {
    expect(readConfig('sandbox', { TILLGATE_VAT: 'A=20@1998-01-01, A=21.5@2027-01-01' }).vat).toEqual([
      { letter: 'A', basisPoints: 2_000, validFrom: '1998-01-01T00:00:00Z' },
      { letter: 'A', basisPoints: 2_150, validFrom: '2027-01-01T00:00:00Z' },
    ]);
    expect(readConfig('sandbox', {}).vat).toEqual(moldovanVat);
    for (const wrong of ['A=20', 'a=20@1998-01-01', 'A=200@1998-01-01', 'A=20@1998-13-01', 'A=-1@1998-01-01']) {
      expect(problemsOf('sandbox', { TILLGATE_VAT: wrong })[0]).toContain('TILLGATE_VAT');
    }
  });

  it('takes two broker tokens at once, so that one can be replaced without a gap', () => {
    expect(readConfig('sandbox', { TILLGATE_BROKER_TOKEN: `${token}, ${token}2` }).brokerToken).toEqual([token, `${token}2`]);
    expect(readConfig('sandbox', {}).brokerToken).toEqual([]);
  });

  it.each([
    ['TILLGATE_KEEP_INVOICES_DAYS', 'keepInvoicesDays'],
    ['TILLGATE_KEEP_COMMANDS_DAYS', 'keepCommandsDays'],
    ['TILLGATE_KEEP_AUDIT_DAYS', 'keepAuditDays'],
  ] as const)('%s: for ever unless it is set, and 400 days at least', (variable, name) => {
    expect(readConfig('sandbox', {})[name]).toBeUndefined();
    expect(readConfig('sandbox', { [variable]: '400' })[name]).toBe(400);
    for (const wrong of ['399', '0', '-400', 'a year'])
      expect(problemsOf('sandbox', { [variable]: wrong }).join()).toContain(`${variable} must be a whole number from 400`);
  });

  describe('with a variable that is no setting', () => {
    const serve = (variable: string) => problemsOf('serve', { TILLGATE_ADMIN_TOKEN: token, [variable]: '1' });

    it.each([
      ['TILLGATE_PROT', 'TILLGATE_PORT'],
      ['TILLGATE_TSL_CERT', 'TILLGATE_TLS_CERT'],
      ['TILLGATE_DATABASEURL', 'TILLGATE_DATABASE_URL'],
      ['TILLGATE_REQUIRE_TOPT', 'TILLGATE_REQUIRE_TOTP'],
      ['TILLGATE_RATELIMITS', 'TILLGATE_RATE_LIMIT'],
      ['TILGATE_ADMIN_TOKEN', 'TILLGATE_ADMIN_TOKEN'],
      ['TILLGATE_port', undefined],
      ['TILLGATE_SERVICE_HOST', undefined],
      ['TILLGATE_TEST_POTR', undefined],
      ['PORT', undefined],
    ])('%s: stops serve if %s is meant', (variable, meant) => {
      const sentence = `${variable} is not a setting of Tillgate; ${meant} is: correct the name, or remove it.`;
      expect(serve(variable)).toEqual(meant === undefined ? [] : [sentence]);
      // The sandbox holds nothing of worth.
      expect(readConfig('sandbox', { [variable]: '1' }).warnings.includes(sentence)).toBe(meant !== undefined);
    });

    it('reports it together with what else is wrong, and not one that is empty', () => {
      expect(problemsOf('serve', { TILLGATE_PROT: '1', TILLGATE_PORT: 'x' })).toEqual([
        ...[expect.stringMatching(/^TILLGATE_PORT must/), expect.stringMatching(/^TILLGATE_PROT is not a setting/)],
      ]);
      expect(problemsOf('serve', { TILLGATE_ADMIN_TOKEN: token, TILLGATE_PROT: ' ' })).toEqual([]);
    });

    it('mentions those that Kubernetes sets for a Service, and says what to do about one that is a setting', () => {
      const links = {
        TILLGATE_SERVICE_HOST: '10.0.0.1',
        TILLGATE_SERVICE_PORT: '8080',
        TILLGATE_SERVICE_PORT_HTTP: '8080',
        TILLGATE_PORT_8080_TCP: 'tcp://10.0.0.1:8080',
        TILLGATE_PORT_8080_TCP_PROTO: 'tcp',
        TILLGATE_PORT_8080_TCP_PORT: '8080',
        TILLGATE_PORT_8080_TCP_ADDR: '10.0.0.1',
      };
      const { warnings } = readConfig('serve', { TILLGATE_ADMIN_TOKEN: token, ...links });
      expect(warnings).toEqual(Object.keys(links).map((name) => expect.stringMatching(`^${name} is not a setting .* has no effect`)));
      const [problem] = problemsOf('serve', { TILLGATE_ADMIN_TOKEN: token, TILLGATE_PORT: 'tcp://10.0.0.1:8080' });
      expect(problem).toMatch(/^TILLGATE_PORT must be a whole number.*`enableServiceLinks: false`/);
      expect(problemsOf('serve', { TILLGATE_ADMIN_TOKEN: token, TILLGATE_PORT: 'x' }).join()).not.toContain('Kubernetes');
    });

    it('takes no variable that this project names elsewhere for a misspelling', () => {
      const files = globSync('{src,scripts,bench,simulation,clients,docs,deploy}/**/*.{ts,md,yaml,yml,py,sh,example,mjs}', {
        // It gives an example of a misspelling.
        exclude: ['docs/decisions.md'],
      });
      const named = new Set(files.flatMap((file) => readFileSync(file, 'utf8').match(/\bTILLGATE_[A-Z0-9_]*[A-Z0-9]\b/g) ?? []));
      expect(named.size).toBeGreaterThan(60);
      const environment = Object.fromEntries([...named].filter((name) => !known.has(name)).map((name) => [name, '1']));
      expect(Object.keys(environment)).not.toEqual([]);
      expect(problemsOf('serve', { TILLGATE_ADMIN_TOKEN: token, ...environment })).toEqual([]);
    });
  });

  describe('in serve warns of a way without TLS beyond this machine', () => {
    const warningsOf = (environment: Record<string, string>) =>
      readConfig('serve', { TILLGATE_ADMIN_TOKEN: token, TILLGATE_BROKER_TOKEN: token, ...environment }).warnings;

    it.each([
      ['TILLGATE_PUBLIC_URL', 'http://pay.example.md/tillgate', 'https://pay.example.md/tillgate'],
      ['TILLGATE_TRACES_URL', 'http://traces:4318', 'https://traces:4318'],
      ['TILLGATE_MQTT_URL', 'mqtt://a:hidden@broker', 'mqtts://a:hidden@broker'],
      ['TILLGATE_MQTT_PUBLIC_URL', 'mqtt://broker', 'mqtts://broker'],
      ['TILLGATE_QUEUE_URL', 'amqp://a:hidden@broker', 'amqps://a:hidden@broker'],
      ['TILLGATE_QUEUE_PUBLIC_URL', 'ws://broker/queue', 'wss://broker/queue'],
      ['TILLGATE_DATABASE_URL', 'postgres://a:hidden@db/t', 'postgres://a:hidden@db/t?sslmode=verify-full'],
      ['TILLGATE_DATABASE_URL', 'postgres://a:hidden@db/t?sslmode=disable', 'postgres://a:hidden@db/t?sslmode=require'],
      ['TILLGATE_DATABASE_URL', 'postgres://a:hidden@db/t?ssl=0', 'postgres://a:hidden@db/t?ssl=true'],
      ['TILLGATE_DATABASE_URL', 'postgres://localhost/t?host=db', 'postgres://db/t?host=/run/postgresql'],
      ['TILLGATE_DATABASE_URL', 'postgres://%zz/t', 'postgres://%zz/t?ssl=1'],
      ['TILLGATE_DATABASE_URL', 'postgres://10.0.0.7/t', 'postgres://10.0.0.7/t?sslrootcert=/root.pem'],
    ])('%s=%s, and not %s', (variable, plain, secure) => {
      expect(warningsOf({ [variable]: plain })).toEqual([expect.stringMatching(new RegExp(`^${variable} leads to \\S+ without TLS`))]);
      expect(warningsOf({ [variable]: plain }).join()).not.toContain('hidden');
      expect(warningsOf({ [variable]: secure })).toEqual([]);
    });

    it.each(['localhost', '127.0.0.1', '127.8.8.8', '[::1]'])('and not on %s', (host) => {
      const local = {
        TILLGATE_PUBLIC_URL: `http://${host}:8080/tillgate`,
        TILLGATE_TRACES_URL: `http://${host}:4318`,
        TILLGATE_MQTT_URL: `mqtt://${host}`,
        TILLGATE_MOSQUITTO_ADMIN_URL: `mqtt://${host}`,
        TILLGATE_QUEUE_URL: `amqp://${host}`,
        TILLGATE_RABBITMQ_API_URL: `http://${host}:15672`,
        TILLGATE_DATABASE_URL: `postgres://${host}/t`,
      };
      expect(warningsOf(local)).toEqual([]);
      for (const url of ['postgres:///t', 'postgres://%2Frun%2Fpostgresql/t'])
        expect(warningsOf({ TILLGATE_DATABASE_URL: url })).toEqual([]);
    });

    it('of the administrators at the brokers too', () => {
      const admins = {
        ...{ TILLGATE_MQTT_URL: 'mqtts://broker', TILLGATE_QUEUE_URL: 'amqps://broker' },
        ...{ TILLGATE_MOSQUITTO_ADMIN_URL: 'mqtt://broker', TILLGATE_RABBITMQ_API_URL: 'http://broker:15672' },
      };
      expect(warningsOf(admins)).toEqual([
        ...[expect.stringMatching(/^TILLGATE_MOSQUITTO_ADMIN_URL /), expect.stringMatching(/^TILLGATE_RABBITMQ_API_URL /)],
      ]);
    });

    it('unless PGSSLMODE says so, where the address of the database says nothing', () => {
      const plain = { TILLGATE_DATABASE_URL: 'postgres://db/t' };
      for (const mode of ['require', 'verify-full', 'no-verify']) expect(warningsOf({ ...plain, PGSSLMODE: mode })).toEqual([]);
      for (const mode of ['disable', 'allow', '']) expect(warningsOf({ ...plain, PGSSLMODE: mode })).toHaveLength(1);
      const off = { TILLGATE_DATABASE_URL: 'postgres://db/t?sslmode=disable', PGSSLMODE: 'verify-full' };
      expect(warningsOf(off)).toHaveLength(1);
    });
  });

  describe('the embedded broker beyond loopback', () => {
    const exposed = {
      TILLGATE_ADMIN_TOKEN: token,
      TILLGATE_HOST: '0.0.0.0',
      TILLGATE_BEHIND_PROXY: 'yes',
      TILLGATE_TRUSTED_PROXIES: '10.0.0.5/32',
      TILLGATE_PUBLIC_URL: 'https://pay.example.md/tillgate',
    };
    const certificate = { TILLGATE_TLS_CERT: 'cert.pem', TILLGATE_TLS_KEY: 'key.pem' };
    const isPlainOpen = (environment: Record<string, string>) => isMqttPlainOpen(readConfig('serve', environment));

    it('is refused without TLS, with what to do', () => {
      expect(problemsOf('serve', exposed)).toEqual([
        expect.stringMatching(/TILLGATE_TLS_CERT.*8883.*TILLGATE_MQTT_URL.*TILLGATE_MQTT_PLAIN=yes/),
      ]);
    });

    it('speaks TLS alone with a certificate, and both if the setting says so', () => {
      expect(isPlainOpen({ ...exposed, ...certificate })).toBe(false);
      expect(isPlainOpen({ ...exposed, ...certificate, TILLGATE_MQTT_PLAIN: 'yes' })).toBe(true);
      expect(isPlainOpen({ TILLGATE_ADMIN_TOKEN: token, ...certificate })).toBe(true);
    });

    it('is warned of where it is plain', () => {
      expect(readConfig('serve', { ...exposed, TILLGATE_MQTT_PLAIN: 'yes' }).warnings).toEqual([
        expect.stringMatching(/0\.0\.0\.0 without encryption.*1883/),
      ]);
      expect(readConfig('serve', { ...exposed, ...certificate }).warnings).toEqual([]);
      expect(readConfig('serve', { ...exposed, TILLGATE_MQTT_URL: 'mqtts://broker.example' }).warnings).toEqual([]);
      expect(readConfig('serve', { TILLGATE_ADMIN_TOKEN: token }).warnings).toEqual([]);
    });
  });

  describe('in serve refuses what is dangerous', () => {
    it.each([
      ['no admin token', {}, 'TILLGATE_ADMIN_TOKEN'],
      ['a short admin token', { TILLGATE_ADMIN_TOKEN: 'short' }, 'shorter than 24 characters'],
      ['plain HTTP on a public address', { TILLGATE_ADMIN_TOKEN: token, TILLGATE_HOST: '0.0.0.0' }, 'TILLGATE_TLS_CERT'],
      ['plain HTTP there without a proxy', { TILLGATE_ADMIN_TOKEN: token, TILLGATE_HOST: '0.0.0.0' }, 'TILLGATE_BEHIND_PROXY'],
      ['a short metrics token', { TILLGATE_ADMIN_TOKEN: token, TILLGATE_METRICS_TOKEN: 'short' }, 'TILLGATE_METRICS_TOKEN'],
      [
        'a proxy that is not named',
        { TILLGATE_ADMIN_TOKEN: token, TILLGATE_HOST: '0.0.0.0', TILLGATE_BEHIND_PROXY: 'yes' },
        'TILLGATE_TRUSTED_PROXIES',
      ],
      ['every proxy there is', { TILLGATE_ADMIN_TOKEN: token, TILLGATE_TRUSTED_PROXIES: '::/0' }, 'TILLGATE_TRUSTED_PROXIES'],
      ['callbacks to everywhere', { TILLGATE_ADMIN_TOKEN: token, TILLGATE_CALLBACK_ALLOW: '0.0.0.0/0' }, 'TILLGATE_CALLBACK_ALLOW'],
      ['half of a TLS pair', { TILLGATE_ADMIN_TOKEN: token, TILLGATE_TLS_CERT: 'x.pem' }, 'belong together'],
    ])('%s', (_name, environment, word) => {
      expect(problemsOf('serve', environment).join(' ')).toContain(word);
    });

    it.each([
      ['TILLGATE_HOST', '0.0.0.0', 'TILLGATE_PUBLIC_URL'],
      ['TILLGATE_HOST', '::', 'TILLGATE_PUBLIC_URL'],
      ['TILLGATE_HOST', '0:0:0:0:0:0:0:0', 'TILLGATE_PUBLIC_URL'],
      ['TILLGATE_PUBLIC_URL', 'https://0.0.0.0/tillgate', 'TILLGATE_PUBLIC_URL'],
      ['TILLGATE_MQTT_URL', 'mqtt://gate:hidden@0.0.0.0', 'TILLGATE_MQTT_PUBLIC_URL'],
      ['TILLGATE_MQTT_PUBLIC_URL', 'mqtts://[::]', 'TILLGATE_MQTT_PUBLIC_URL'],
      ['TILLGATE_QUEUE_URL', 'amqp://gate:hidden@0.0.0.0:5672', 'TILLGATE_QUEUE_PUBLIC_URL'],
      ['TILLGATE_QUEUE_PUBLIC_URL', 'wss://0.0.0.0/queue', 'TILLGATE_QUEUE_PUBLIC_URL'],
    ])('to give devices an address that they cannot reach: %s=%s', (variable, value, remedy) => {
      const environment = { TILLGATE_ADMIN_TOKEN: token, TILLGATE_BROKER_TOKEN: token, [variable]: value };
      const told = problemsOf('serve', environment).filter((problem) => problem.includes('no address that devices could dial'));
      expect(told).toEqual([expect.stringMatching(new RegExp(`^${variable} .*: set ${remedy} to`))]);
      expect(told.join()).not.toContain('hidden');
    });

    it('and an outside broker at such an address, unless devices get another one', () => {
      const environment = {
        TILLGATE_ADMIN_TOKEN: token,
        TILLGATE_MQTT_URL: 'mqtt://0.0.0.0',
        TILLGATE_MQTT_PUBLIC_URL: 'mqtts://broker.example',
      };
      expect(readConfig('serve', environment)).toMatchObject({ mqttPublicUrl: 'mqtts://broker.example' });
    });

    it('RabbitMQ without the token of its questions, and says which lines to change', () => {
      const rabbitmq = { TILLGATE_ADMIN_TOKEN: token, TILLGATE_QUEUE_URL: 'amqp://a:b@broker', TILLGATE_BASE_PATH: '/pay' };
      const [problem, ...others] = problemsOf('serve', rabbitmq);
      expect(others).toEqual([]);
      expect(problem).toMatch(/TILLGATE_BROKER_TOKEN=TOKEN into the environment/);
      const shipped = readFileSync('deploy/rabbitmq.conf', 'utf8');
      const lines = problem?.split('\n').slice(1) ?? [];
      expect(lines).toHaveLength(4);
      for (const line of lines) {
        const ours = line.trim().replace('GATEWAY:PORT/pay', 'proxy:8081/tillgate').replace('TOKEN', 'change-me-too');
        expect(shipped.split('\n')).toContain(ours);
      }
      expect(problemsOf('serve', { ...rabbitmq, TILLGATE_BROKER_TOKEN: token })).toEqual([]);
      expect(problemsOf('serve', { TILLGATE_ADMIN_TOKEN: token })).toEqual([]);
    });

    it.each(['short', `${token},${token},${token}`, `${token}/x`, `${token}, ?`])('a broker token that is none: %s', (value) => {
      const [problem] = problemsOf('serve', { TILLGATE_ADMIN_TOKEN: token, TILLGATE_BROKER_TOKEN: value });
      expect(problem).toMatch(/^TILLGATE_BROKER_TOKEN must be one token, or two/);
      expect(problem).not.toContain(value);
    });

    it('unless a proxy in front ends HTTPS', () => {
      const environment = {
        TILLGATE_ADMIN_TOKEN: token,
        TILLGATE_HOST: '0.0.0.0',
        TILLGATE_BEHIND_PROXY: 'yes',
        TILLGATE_MQTT_PLAIN: 'yes',
        TILLGATE_TRUSTED_PROXIES: '10.0.0.5/32',
      };
      expect(problemsOf('serve', { ...environment, TILLGATE_PUBLIC_URL: 'https://pay.example.md/tillgate' })).toEqual([]);
      for (const host of ['0.0.0.0', '::']) {
        expect(problemsOf('serve', { ...environment, TILLGATE_HOST: host })).toEqual([
          expect.stringMatching(/devices.*TILLGATE_PUBLIC_URL/),
        ]);
      }
    });

    it('and takes a proxy on this machine for granted, and no other', () => {
      const trusted = (environment: Record<string, string>) =>
        trustedProxiesOf(readConfig('serve', { TILLGATE_ADMIN_TOKEN: token, ...environment }));
      expect(trusted({})).toEqual([]);
      expect(trusted({ TILLGATE_BEHIND_PROXY: 'yes' })).toEqual(['127.0.0.0/8', '::1/128']);
      expect(trusted({ TILLGATE_BEHIND_PROXY: 'yes', TILLGATE_TRUSTED_PROXIES: '10.0.0.5/32' })).toEqual(['10.0.0.5/32']);
      expect(trusted({ TILLGATE_TRUSTED_PROXIES: '10.0.0.5/32,fd00::/8' })).toEqual(['10.0.0.5/32', 'fd00::/8']);
    });
  });

  it('is what .env.example and docs/operating.md say', () => {
    expect(readFileSync('.env.example', 'utf8')).toBe(exampleText());
    expect(readFileSync('docs/operating.md', 'utf8')).toContain(settingsTable());
    for (const { variable } of Object.values(settings)) expect(variable).toMatch(/^TILLGATE_[A-Z0-9_]+$/);
  });
});
