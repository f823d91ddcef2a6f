// deploy/compose.yaml and deploy/Containerfile, as far as that can be held without pulling an image: every file, setting, service and variable
// that they name is there, and what is changed in the shipped configurations at the start changes what it means to.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ipaddr from 'ipaddr.js';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readConfig } from '../../src/config.ts';
import { settings } from '../../src/settings.ts';
import { memoryFlag } from '../support/gateway-process.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string) => readFileSync(`${root}${path}`, 'utf8');
const text = read('deploy/compose.yaml');
const compose = parse(text, { merge: true });
const services: Record<string, any> = compose.services;
const example = Object.fromEntries(
  [...read('deploy/compose.env.example').matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
);
/** With the example's values, and a long one where it has none. */
const filled = (value: string) =>
  value.replace(/\$\{([A-Z_]+):\?\}/g, (_all, name: string) => example[name] || 'a-value-of-24-letters-or-more');
const environment = Object.fromEntries(
  Object.entries<string>(services['gateway-1'].environment).map(([name, value]) => [name, filled(value)]),
);
const image = read('deploy/Containerfile');

/** Runs the `sed` of a service's start on the file that is shipped. */
function changedBy(service: string, file: string, variables: Record<string, string> = {}): string {
  const start: string = (services[service].command ?? services[service].entrypoint)[2];
  const [line = ''] = /sed [\s\S]*?(?= > )/.exec(start) ?? [];
  const script = line.replaceAll('$$', '$').replace(/\/deploy\/\S+$/, `${root}deploy/${file}`);
  return execFileSync('sh', ['-ec', script], { encoding: 'utf8', env: { PATH: process.env['PATH'], ...variables } });
}

describe('compose.yaml', () => {
  it('asks for exactly the variables that the example has', () => {
    const asked = new Set([...text.matchAll(/\$\{([A-Z_]+):\?\}/g)].map(([, name = '']) => name));
    expect([...asked].sort()).toEqual(Object.keys(example).sort());
    // None is taken that may be missing, and no $ is left to compose by mistake.
    expect(text.replace(/\$\{[A-Z_]+:\?\}|\$\$/g, '')).not.toContain('$');
  });

  it('mounts only what is there, and publishes to the world nothing but HTTPS', () => {
    for (const { volumes = [] } of Object.values(services)) {
      for (const volume of volumes as string[]) {
        const [source = ''] = volume.split(':');
        if (source.startsWith('./')) expect(existsSync(`${root}deploy/${source}`), source).toBe(true);
        else if (!source.startsWith('$')) expect(compose.volumes).toHaveProperty(source);
      }
    }
    // A list without quotes falls apart at its commas, and a word at a colon.
    expect(services['gateway-1'].healthcheck.test).toHaveLength(4);
    const ports = Object.values(services).flatMap((service) => service.ports ?? []);
    expect(ports.filter((port: string) => !port.startsWith('127.0.0.1:'))).toEqual(['443:443']);
  });

  it('has services that wait for services that are there, and are healthy where that is waited for', () => {
    for (const { depends_on: waits = {} } of Object.values(services)) {
      const waitsFor: [string, { condition?: string }][] = Array.isArray(waits) ? waits.map((name) => [name, {}]) : Object.entries(waits);
      for (const [name, how] of waitsFor) {
        expect(services).toHaveProperty(name);
        if (how.condition === 'service_healthy') expect(services[name].healthcheck?.test[0]).toBe('CMD');
      }
    }
  });

  it('runs two equal gateways with settings that exist and that serve starts with', () => {
    const { networks: first, ...one } = services['gateway-1'];
    const { networks: second, ...other } = services['gateway-2'];
    expect(one).toEqual(other);
    // An upgrade makes them anew, and nginx looks a name up only at its start: each keeps its address, which nobody else is given.
    const addresses = [first, second].map((networks) => ipaddr.IPv4.parse(networks.default.ipv4_address));
    expect(new Set(addresses.map(String)).size).toBe(2);
    const [{ subnet, ip_range: forOthers }] = compose.networks.default.ipam.config;
    for (const address of addresses) {
      expect(address.match(ipaddr.IPv4.parseCIDR(subnet))).toBe(true);
      expect(address.match(ipaddr.IPv4.parseCIDR(forOthers))).toBe(false);
    }
    const known = new Set<string>(Object.values(settings).map(({ variable }) => variable));
    expect(Object.keys(environment).filter((variable) => !known.has(variable))).toEqual([]);
    const ofImage = Object.fromEntries([...image.matchAll(/(TILLGATE_[A-Z_]+)=(\S+)/g)].map(([, name, value]) => [name, value]));
    const config = readConfig('serve', { ...ofImage, ...environment });
    expect(config).toMatchObject({ host: '0.0.0.0', port: 8080, dataDir: '/data' });
    // Those that stay on the network of this machine, and no other.
    const inside = ['DATABASE_URL', 'MQTT_URL', 'QUEUE_URL', 'RABBITMQ_API_URL'].map((name) => `TILLGATE_${name}`);
    expect(config.warnings.map((warning) => warning.split(' ')[0])).toEqual(inside);
    for (const warning of config.warnings) expect(warning).toMatch(/ leads to (?:postgres|rabbitmq) without TLS/);
    expect(Number.parseInt(services['gateway-1'].stop_grace_period, 10)).toBeGreaterThanOrEqual(config.drainS + config.stopGraceS + 15);
    expect(config.trustedProxies).toEqual([subnet]);
    expect(services['gateway-1'].healthcheck.test[3]).toContain(`http://127.0.0.1:${config.port}${config.basePath}/health/ready`);
  });

  it('bounds the packets of MQTT in its RabbitMQ, whose version knows how, as it bounds messages', () => {
    const [, major, minor] = /:(\d+)\.(\d+)$/.exec(services['rabbitmq'].image) ?? expect.fail();
    expect(Number(major) * 100 + Number(minor)).toBeGreaterThanOrEqual(313);
    const rabbitmq = changedBy('rabbitmq', 'rabbitmq.conf', { TILLGATE_BROKER_TOKEN: 'token', RABBITMQ_PASSWORD: 'password' });
    const [, messageBytes] = /^max_message_size = (\d+)$/m.exec(rabbitmq) ?? expect.fail();
    // RabbitMQ 4.1 and newer do not start with a larger packet than message.
    expect(rabbitmq).toMatch(new RegExp(`^mqtt\\.max_packet_size_authenticated = ${messageBytes}$`, 'm'));
    // Older ones do not start with the setting, and the file is for them too.
    expect(read('deploy/rabbitmq.conf')).not.toMatch(/^mqtt\.max_packet_size/m);
  });

  it('lets nginx know both gateways and its certificate, and RabbitMQ the proxy', () => {
    const nginx = changedBy('proxy', 'nginx.conf');
    expect(nginx).toMatch(/^ {2}server gateway-1:8080[^;]*; server gateway-2:8080[^;]*;$/m);
    expect(nginx).toContain('/run/tls/tls.pem;');
    expect(nginx).toContain('/run/tls/tls.key;');
    expect(nginx.replace(/^\s*#.*$/gm, '')).not.toMatch(/127\.0\.0\.1|example|\/var\/log/);
    const tokens = { TILLGATE_BROKER_TOKEN: 'token-of-the-broker', RABBITMQ_PASSWORD: 'password-of-the-gateway' };
    const rabbitmq = changedBy('rabbitmq', 'rabbitmq.conf', tokens).replace(/^\s*#.*$/gm, '');
    expect(rabbitmq).toContain('default_pass = password-of-the-gateway\n');
    expect(rabbitmq).not.toContain('change-me');
    // Where devices are cut off: the same user, at the port that is opened and never published.
    const api = new URL(environment['TILLGATE_RABBITMQ_API_URL'] ?? expect.fail());
    expect(rabbitmq).toContain(`default_user = ${api.username}\n`);
    expect(rabbitmq).toContain(`management.tcp.port = ${api.port}\n`);
    expect([api.hostname, api.password]).toEqual(['rabbitmq', new URL(environment['TILLGATE_QUEUE_URL'] ?? '').password]);
    expect(read('deploy/rabbitmq-enabled-plugins')).toContain('rabbitmq_management');
    expect(JSON.stringify(services['rabbitmq'].ports)).not.toContain(api.port);
    const asked = [
      ...rabbitmq.matchAll(/^auth_http\.\w+_path = http:\/\/([\w-]+):(\d+)\/tillgate\/broker\/rabbitmq\/token-of-the-broker\//gm),
    ];
    expect(asked).toHaveLength(4);
    for (const [, host = '', port] of asked) {
      expect(services).toHaveProperty(host);
      if (host === 'proxy') expect(nginx).toContain(`listen ${port};`);
    }
  });

  it('lets Prometheus scrape both gateways with the rules and the token at hand', () => {
    const { scrape_configs: scrapes, rule_files: rules } = parse(changedBy('prometheus', 'prometheus/prometheus.yml'));
    expect(scrapes[0].static_configs[0].targets).toEqual(['gateway-1:8080', 'gateway-2:8080']);
    const start: string = services['prometheus'].entrypoint[2];
    for (const file of [...rules, scrapes[0].authorization.credentials_file]) expect(start).toContain(`/prometheus/${file}`);
  });
});

describe('Containerfile', () => {
  it('takes from a clone what is there, and what the program reads from where it lies', () => {
    const context = read('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));
    for (const path of context) expect(existsSync(`${root}${path}`), path).toBe(true);
    const [, moved = ''] = /mv (.*) \/out\/opt\/tillgate\/ /.exec(image) ?? [];
    const { bin, files } = JSON.parse(read('package.json'));
    expect(moved.split(' ')).toEqual(expect.arrayContaining(['bin', 'dist', 'migrations', 'openapi', 'node_modules', 'package.json']));
    for (const part of moved.split(' ').filter((each) => !/node_modules|package\.json|LICENSE/.test(each))) expect(files).toContain(part);
    expect(image).toContain(`ENTRYPOINT ["node", "${memoryFlag}", "/opt/tillgate/${bin.tillgate}"]`);
  });

  it('ends as a user that is not root, and that the Kubernetes manifests name', () => {
    const [, user, group] = /^USER (\d+):(\d+)$/m.exec(image) ?? [];
    expect(read('deploy/kubernetes/tillgate.yaml')).toContain(`runAsUser: ${user}\n        runAsGroup: ${group}\n`);
    expect(services['gateway-1'].tmpfs).toContain(`/data:mode=700,uid=${user},gid=${group}`);
  });
});
