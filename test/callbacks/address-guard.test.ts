// No connection to an address that is not public, however it is written. Addresses that are not ours are only judged here, so that even
// a broken guard makes this test dial nobody; the sender is shown loopback alone, where a connection would reach the listener.
import { createServer, type Server, Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { createAddressGuard } from '../../src/callbacks/address-guard.ts';
import type { LookupAll } from '../../src/callbacks/name-lookup.ts';
import { createSender } from '../../src/callbacks/sender.ts';
import { systemClock } from '../../src/kernel/system.ts';

let listener: Server;
let port: number;
let heard = 0;

beforeAll(async () => {
  listener = createServer((socket) => {
    heard += 1;
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
  });
  await new Promise<void>((resolve) => {
    listener.listen(0, '::', resolve);
  });
  port = (listener.address() as { port: number }).port;
});
afterAll(() => {
  listener.close();
});
afterEach(() => {
  vi.restoreAllMocks();
});

const privateV4 = [
  '127.0.0.1',
  '127.0.0.2',
  '127.1.2.3',
  '127.255.255.254',
  '0.0.0.0',
  '0.0.0.1',
  '0.255.255.255',
  '10.0.0.0',
  '10.0.0.1',
  '10.255.255.255',
  '172.16.0.1',
  '172.16.0.0',
  '172.20.10.5',
  '172.31.255.255',
  '192.168.0.1',
  '192.168.1.1',
  '192.168.255.255',
  '169.254.169.254',
  '169.254.0.1',
  '169.254.170.2',
  '169.254.255.255',
  '100.64.0.1',
  '100.100.100.200',
  '100.127.255.255',
  '192.0.0.1',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.7',
  '203.0.113.9',
  '224.0.0.1',
  '224.0.0.251',
  '239.255.255.250',
  '240.0.0.1',
  '250.1.2.3',
  '255.255.255.255',
  '192.175.48.1',
  '192.31.196.1',
  '192.52.193.1',
  '168.63.129.16',
];
// Other ways to write an IPv4 address, all understood by URL parsers.
const oddV4 = [
  '0x7f.1',
  '0x7f000001',
  '2130706433',
  '017700000001',
  '0177.0.0.1',
  '0177.0.0.01',
  '127.1',
  '127.0.1',
  '0x7f.0x0.0x0.0x1',
  '0x7F.0.0.1',
  '127.0.0.1.',
  '0',
  '0x0',
  '00',
  '0xa9fea9fe',
  '2852039166',
  '0251.0376.0251.0376',
  '169.254.43518',
  '169.16689662',
  '0xa9.0xfe.0xa9.0xfe',
  '025177524776',
  '10.1',
  '0xa.1',
  '012.0.0.1',
  '167772161',
  '3232235521',
  '0xc0a80001',
  '192.168.257',
  '192.11010049',
  '030052000001',
  '0300.0250.0.1',
  '2886729729',
  '0xac100001',
  '0254.020.0.1',
  '１２７.０.０.１',
  '127。0。0。1',
  '①②⑦.⓪.⓪.①',
  '%31%32%37.0.0.1',
  '4294967295',
  '0xffffffff',
  '0xe0000001',
  '0xa83f8110',
  '2822734096',
];
const privateV6 = [
  '::',
  '::1',
  '0:0:0:0:0:0:0:1',
  '::0001',
  '0000:0000:0000:0000:0000:0000:0000:0001',
  'fe80::1',
  'fe80::a9fe:a9fe',
  'febf::1',
  'fec0::1',
  'feff::1',
  'fc00::1',
  'fd00::1',
  'fd00:ec2::254',
  'fd12:3456:789a::1',
  'fdff:ffff::1',
  'ff00::1',
  'ff01::1',
  'ff02::1',
  'ff02::fb',
  'ff05::2',
  'ff0e::1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::FFFF:7F00:0001',
  '::ffff:0:0',
  '::ffff:10.0.0.1',
  '::ffff:169.254.169.254',
  '::ffff:a9fe:a9fe',
  '::ffff:192.168.1.1',
  '::ffff:172.16.0.1',
  '::ffff:100.64.0.1',
  '::ffff:168.63.129.16',
  '64:ff9b::168.63.129.16',
  '::ffff:0.0.0.0',
  '0:0:0:0:0:ffff:127.0.0.1',
  '::ffff:0:127.0.0.1',
  '::ffff:0:7f00:1',
  '::127.0.0.1',
  '::7f00:1',
  '::10.0.0.1',
  '::169.254.169.254',
  '::8.8.8.8',
  '64:ff9b::127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b::10.0.0.1',
  '64:ff9b::169.254.169.254',
  '64:ff9b::192.168.0.1',
  '64:ff9b:1::7f00:1',
  '64:ff9b:1::8.8.8.8',
  '64:ff9b:1:ffff::1',
  '2002:7f00:1::',
  '2002:7f00:1::1',
  '2002:a00:1::1',
  '2002:a9fe:a9fe::1',
  '2002:c0a8:101::1',
  '2002:808:808::1',
  '2001::1',
  '2001:0:4136:e378:8000:63bf:3fff:fdd2',
  '2001:2::1',
  '2001:3::1',
  '2001:10::1',
  '2001:20::1',
  '2001:30::1',
  '2001:db8::1',
  '2001:db8:ffff::1',
  '100::1',
  '100::ffff:1',
  '3fff::1',
  '5f00::1',
  '2001:4:112::1',
  '2620:4f:8000::1',
  '4000::1',
  '8000::1',
  'e000::1',
  '1::1',
  '200::1',
  '400::7f00:1',
  'fe00::1',
];
const literals = [...privateV4, ...oddV4, ...privateV6.map((address) => `[${address}]`)];

/** Counts what the process really dials. */
function watchDials(): { addresses: string[] } {
  const addresses: string[] = [];
  const original = Socket.prototype.connect;
  vi.spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket, ...args: unknown[]) {
    this.on('connectionAttempt', (address: string) => addresses.push(address));
    return (original as (...all: unknown[]) => Socket).apply(this, args);
  });
  return { addresses };
}

function sendTo(url: string, options: { allow?: string[]; lookup?: LookupAll } = {}) {
  const guard = createAddressGuard({
    clock: systemClock,
    allow: options.allow ?? [],
    ...(options.lookup ? { lookup: options.lookup } : {}),
  });
  const sender = createSender({ clock: systemClock, guard, attemptTimeoutMs: 5_000, socketsPerHost: 8 });
  return sender
    .send({ id: 'id', sequence: 1, url, secrets: ['whsec_c2VjcmV0'] }, new AbortController().signal)
    .finally(() => sender.close());
}

const answering =
  (...rounds: string[][]): LookupAll =>
  (_hostname, _options, done) => {
    const addresses = (rounds.length > 1 ? rounds.shift() : rounds[0]) ?? [];
    process.nextTick(() =>
      done(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      ),
    );
  };

describe('addresses that are not public', () => {
  it('are more than 150', () => {
    expect(new Set(literals).size).toBeGreaterThan(150);
  });

  /** What the sender would judge: the host as the URL parser writes it. */
  const hostOf = (literal: string) => URL.parse(`http://${literal}:1/`)?.hostname.replace(/^\[|\]$/g, '');

  it('are refused when a URL contains them', () => {
    const guard = createAddressGuard({ clock: systemClock, allow: [] });
    const hosts = literals.map((literal) => hostOf(literal)).filter((host) => host !== undefined);
    expect(literals.length - hosts.length).toBeLessThan(5);
    expect(hosts.filter((host) => !/not public/.test(guard.refusal(host) ?? ''))).toEqual([]);
  });

  it('are refused when a name leads to them', async () => {
    const judged = [...privateV4, ...privateV6].map(
      (address) =>
        new Promise<string>((resolve) => {
          const guard = createAddressGuard({ clock: systemClock, allow: [], lookup: answering([address]) });
          guard.lookup('erp.example', { all: true }, (error) => resolve(error?.message ?? `${address} passed`));
        }),
    );
    expect((await Promise.all(judged)).filter((text) => !text.startsWith('erp.example is refused: the address'))).toEqual([]);
  });

  it('get no connection from the sender, neither as a literal nor by a name, over http or https', async () => {
    const before = heard;
    const dials = watchDials();
    const isOurs = (host: string | undefined) => host !== undefined && /^(127\.|::1$|::ffff:7f)/.test(host);
    const ours = literals.filter((literal) => isOurs(hostOf(literal)));
    expect(ours.length).toBeGreaterThan(20);
    const results = await Promise.all([
      ...ours.map((literal) => sendTo(`http://${literal}:${port}/cb`)),
      ...ours.map((literal) => sendTo(`https://${literal}:${port}/cb`)),
      ...['127.0.0.1', '127.1.2.3', '::1', '::ffff:127.0.0.1'].flatMap((address) =>
        ['http', 'https'].map((scheme) => sendTo(`${scheme}://erp.example:${port}/cb`, { lookup: answering([address]) })),
      ),
    ]);
    expect(results.filter((result) => result.status !== null || !/not public/.test(result.error ?? ''))).toEqual([]);
    expect(dials.addresses).toEqual([]);
    expect(heard).toBe(before);
  });

  it('get no connection from a name that changes its answer', async () => {
    const dials = watchDials();
    const lookup = answering(['127.0.0.1'], ['8.8.8.8'], ['127.0.0.1'], ['::1'], ['10.0.0.1']);
    const guard = createAddressGuard({ clock: systemClock, allow: [], lookup });
    const ask = () =>
      new Promise<string>((resolve) => {
        guard.lookup('rebind.example', { all: true }, (error, found) => resolve(error ? 'refused' : JSON.stringify(found)));
      });
    expect([await ask(), await ask(), await ask(), await ask(), await ask()]).toEqual([
      'refused',
      '[{"address":"8.8.8.8","family":4}]',
      'refused',
      'refused',
      'refused',
    ]);
    expect(dials.addresses).toEqual([]);
  });

  it('are left out when a name has public ones too', async () => {
    const guard = createAddressGuard({
      clock: systemClock,
      allow: [],
      lookup: answering(['127.0.0.1', '8.8.8.8', '::1', '2606:4700::1111']),
    });
    const found = new Promise((resolve) => guard.lookup('mixed.example', { all: true }, (_error, all) => resolve(all)));
    expect(await found).toEqual([
      { address: '8.8.8.8', family: 4 },
      { address: '2606:4700::1111', family: 6 },
    ]);
  });

  it('are not reached through localhost', async () => {
    const dials = watchDials();
    for (const name of ['localhost', 'LOCALHOST', 'localhost.']) expect((await sendTo(`http://${name}:${port}/`)).status).toBe(null);
    expect(dials.addresses).toEqual([]);
  });
});

describe('the guard', () => {
  const guard = createAddressGuard({ clock: systemClock, allow: [] });
  it.each([
    '8.8.8.8',
    '1.1.1.1',
    '93.184.216.34',
    '168.63.129.15',
    '168.63.129.17',
    '172.15.255.255',
    '172.32.0.1',
    '100.63.255.255',
    '100.128.0.1',
    '2606:4700::1111',
    '2a00:1450:4001::200e',
    '64:ff9b::8.8.8.8',
    '::ffff:8.8.8.8',
  ])('lets %s pass', (address) => {
    expect(guard.refusal(address)).toBeUndefined();
  });

  it.each([
    ['127.0.0.0/8', '127.0.0.1', '::1'],
    ['127.0.0.0/8', '::ffff:127.0.0.1', '10.0.0.1'],
    ['::1/128', '::1', '127.0.0.1'],
    ['192.168.5.0/24', '192.168.5.77', '192.168.6.1'],
    ['fd00::/8', 'fd12::1', 'fc00::1'],
    ['10.1.2.3', '10.1.2.3', '10.1.2.4'],
    ['fd00::1', 'fd00::1', 'fd00::2'],
    ['fe80::/10', 'fe80::1%eth0', 'fd00::1'],
  ])('with %s allowed, %s passes and %s does not', (range, inside, outside) => {
    const open = createAddressGuard({ clock: systemClock, allow: [range] });
    expect(open.refusal(inside)).toBeUndefined();
    expect(open.refusal(outside)).toContain('not public');
  });

  it.each(['', 'x', '10.0.0.0/33', '10.0.0/8x', 'example.com', '::/129'])('refuses the setting %j', (range) => {
    expect(() => createAddressGuard({ clock: systemClock, allow: [range] })).toThrow('is not an address range');
  });

  it('dials an allowed address, literal and by name', async () => {
    const before = heard;
    const dials = watchDials();
    expect((await sendTo(`http://127.0.0.1:${port}/`, { allow: ['127.0.0.0/8'] })).status).toBe(200);
    expect((await sendTo(`http://0x7f.1:${port}/`, { allow: ['127.0.0.0/8'] })).status).toBe(200);
    expect((await sendTo(`http://[::1]:${port}/`, { allow: ['::1/128'] })).status).toBe(200);
    expect(
      (await sendTo(`http://erp.example:${port}/`, { allow: ['127.0.0.0/8'], lookup: answering(['10.0.0.1', '127.0.0.1']) })).status,
    ).toBe(200);
    expect(dials.addresses).toEqual(['127.0.0.1', '127.0.0.1', '::1', '127.0.0.1']);
    expect(heard).toBe(before + 4);
  });

  it.each([
    [6, '2606:4700::1111'],
    ['IPv4', '8.8.8.8'],
    [0, '8.8.8.8'],
  ] as const)('hands on addresses of the family %s alone', async (family, expected) => {
    const both = createAddressGuard({ clock: systemClock, allow: [], lookup: answering(['8.8.8.8', '2606:4700::1111']) });
    const found = new Promise((resolve) => both.lookup('erp.example', { family }, (_error, address) => resolve(address)));
    expect(await found).toBe(expected);
  });

  it('asks for one name once at a time', () => {
    let asked = 0;
    let answer: (() => void) | undefined;
    const slow = createAddressGuard({
      clock: systemClock,
      allow: [],
      lookup: (_hostname, _options, done) => {
        asked += 1;
        answer = () => done(null, [{ address: '8.8.8.8', family: 4 }]);
      },
    });
    const found: unknown[] = [];
    for (let count = 0; count < 5; count += 1) slow.lookup('slow.example', {}, (_error, address) => found.push(address));
    expect(asked).toBe(1);
    answer?.();
    expect(found).toEqual(['8.8.8.8', '8.8.8.8', '8.8.8.8', '8.8.8.8', '8.8.8.8']);
  });
});
