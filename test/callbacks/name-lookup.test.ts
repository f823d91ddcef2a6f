// How the addresses of a name are found: real questions to a name server on loopback, virtual time, and a system look-up that only
// remembers what it was asked unless a test is about the real one.
import { type LookupAddress, lookup } from 'node:dns';
import { readdirSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createAddressGuard } from '../../src/callbacks/address-guard.ts';
import { createNameLookup, type LookupAll, type NameLookupDeps } from '../../src/callbacks/name-lookup.ts';
import { createSender } from '../../src/callbacks/sender.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { type NameServer, serverFailure, startNameServer } from '../support/name-server.ts';
import { until } from '../support/until.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

let server: NameServer;
let clock: VirtualClock;

beforeEach(async () => {
  clock = createVirtualClock();
  server = await startNameServer({
    'erp.example': { A: ['192.0.2.1', '192.0.2.2'], AAAA: ['2001:db8::1'] },
    'wide.example': { AAAA: ['2001:db8::2'] },
    'half-silent.example': { A: ['192.0.2.3'], AAAA: 'silent' },
    'wide-half-silent.example': { A: 'silent', AAAA: ['2001:db8::3'] },
    'half-empty.example': { AAAA: 'silent' },
    'empty.example': {},
    'failing.example': serverFailure,
    'a_b.example': { A: ['192.0.2.4'] },
    'xn--bcher-kva.example': { A: ['192.0.2.5'] },
    'inner.example': { A: ['127.0.0.1'] },
  });
});
afterEach(async () => {
  await server.close();
});

type Answer = Promise<LookupAddress[]>;

function namesBy(overrides: Partial<NameLookupDeps> = {}): (name: string) => Answer {
  const find = createNameLookup({ clock, servers: [server.address], system: refusing, ...overrides });
  return (name) =>
    new Promise((resolve, reject) => {
      find(name, { all: true }, (error, found) => (error ? reject(error) : resolve(found)));
    });
}

const refusing: LookupAll = (name, _options, done) => done(new Error(`The system was asked for ${name}.`), []);

/** A system that knows every name at once. */
function knowing(): { asked: string[]; system: LookupAll } {
  const asked: string[] = [];
  return {
    asked,
    system: (name, _options, done) => {
      asked.push(name);
      process.nextTick(() => done(null, [{ address: '192.0.2.99', family: 4 }]));
    },
  };
}

/** A system whose questions stay open until a test answers the oldest. */
function slow() {
  const asked: string[] = [];
  const open: (() => void)[] = [];
  const system: LookupAll = (name, _options, done) => {
    asked.push(name);
    open.push(() => done(null, [{ address: '192.0.2.99', family: 4 }]));
  };
  return {
    asked,
    system,
    get underWay() {
      return open.length;
    },
    async answerNext() {
      await until(() => open.length > 0);
      open.shift()?.();
      await clock.settle();
    },
  };
}

const bySystem = [{ address: '192.0.2.99', family: 4 }];
const errorOf = (answer: Answer) =>
  answer.then(
    (found) => `found ${JSON.stringify(found)}`,
    (error: NodeJS.ErrnoException) => `${error.code}: ${error.message}`,
  );

/** In groups, since the packets of all at once would not fit into the socket's buffer. */
async function askForDeadNames(find: (name: string) => Answer, count: number): Promise<Promise<string>[]> {
  const answers: Promise<string>[] = [];
  while (answers.length < count) {
    for (let each = 0; each < 50; each += 1) answers.push(errorOf(find(`erp${answers.length}.dead`)));
    await until(() => new Set(server.asked).size >= 2 * answers.length);
  }
  return answers;
}

const threadsAsked = () => process.getActiveResourcesInfo().filter((kind) => kind === 'GetAddrInfoReqWrap').length;

describe('names that have addresses', () => {
  it('are found at the name servers, IPv4 first', async () => {
    expect(await namesBy()('erp.example')).toEqual([
      { address: '192.0.2.1', family: 4 },
      { address: '192.0.2.2', family: 4 },
      { address: '2001:db8::1', family: 6 },
    ]);
    expect([...server.asked].sort()).toEqual(['A erp.example', 'AAAA erp.example']);
  });

  it('may have IPv6 alone', async () => {
    expect(await namesBy()('wide.example')).toEqual([{ address: '2001:db8::2', family: 6 }]);
  });

  it.each([
    ['half-silent.example', { address: '192.0.2.3', family: 4 }],
    ['wide-half-silent.example', { address: '2001:db8::3', family: 6 }],
  ])('wait a second for the other kind, as %s', async (name, address) => {
    const answer = namesBy()(name);
    let isThere = false;
    void answer.then(() => {
      isThere = true;
    });
    await until(() => clock.pending === 2);
    await clock.advance(999);
    expect(isThere).toBe(false);
    await clock.advance(1);
    expect(await answer).toEqual([address]);
  });

  it('leave no timer and no socket behind', async () => {
    const sockets = () => readdirSync('/proc/self/fd').length;
    const find = namesBy();
    await find('erp.example');
    const before = sockets();
    await Promise.all(Array.from({ length: 20 }, () => find('erp.example')));
    await until(() => sockets() <= before);
    expect(clock.pending).toBe(0);
  });
});

describe('a dead zone', () => {
  it('delays nothing else, neither another name nor the rest of the process', async () => {
    const find = namesBy({ system: lookup });
    const dead = await askForDeadNames(find, 300);
    const startedAt = performance.now();
    expect(await find('erp.example')).toHaveLength(3);
    expect(threadsAsked()).toBe(0);
    await new Promise((resolve) => lookup('localhost', resolve));
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    await clock.advance(6_000);
    expect(new Set(await Promise.all(dead)).size).toBe(300);
    expect(threadsAsked()).toBe(0);
  });

  it('is reported after six seconds, and the system is not asked', async () => {
    const { asked, system } = knowing();
    const answer = errorOf(namesBy({ system })('erp.dead'));
    await until(() => server.asked.length === 2);
    await clock.advance(5_999);
    expect(clock.pending).toBe(1);
    await clock.advance(1);
    expect(await answer).toBe('ETIMEOUT: The name servers do not answer for erp.dead.');
    expect([asked, clock.pending]).toEqual([[], 0]);
  });

  it('is reported by the resolver itself after its last attempt', async () => {
    const startedAt = performance.now();
    expect(await errorOf(namesBy()('erp.dead'))).toBe('ETIMEOUT: The name servers do not answer for erp.dead.');
    const tookMs = performance.now() - startedAt;
    expect(tookMs).toBeGreaterThan(3_500);
    expect(tookMs).toBeLessThan(8_000);
    expect(server.asked).toHaveLength(4);
  });

  it.each([serverFailure, 4, 5])(
    'is not reported when a server answers %i (fails, cannot, will not) and the next one knows the name',
    async (code) => {
      const [first, second] = [await startNameServer({ 'a.example': code }), await startNameServer({ 'a.example': { A: ['192.0.2.1'] } })];
      expect(await namesBy({ servers: [first.address, second.address] })('a.example')).toMatchObject([{ address: '192.0.2.1' }]);
      await Promise.all([first.close(), second.close()]);
    },
  );

  it('is reported also when its servers fail, or one kind does not exist and the other is not answered', async () => {
    const { asked, system } = knowing();
    const find = namesBy({ system });
    expect(await errorOf(find('failing.example'))).toBe('ESERVFAIL: The name servers failed to resolve failing.example.');
    const halfEmpty = errorOf(find('half-empty.example'));
    await until(() => server.asked.includes('AAAA half-empty.example'));
    await clock.advance(6_000);
    expect(await halfEmpty).toBe('ETIMEOUT: The name servers do not answer for half-empty.example.');
    expect(asked).toEqual([]);
  });

  it('is in the delivery log in plain words', async () => {
    const find = createNameLookup({ clock, servers: [server.address], system: refusing });
    const guard = createAddressGuard({ clock: systemClock, allow: [], lookup: find });
    const sender = createSender({ clock: systemClock, guard, attemptTimeoutMs: 15_000, socketsPerHost: 8 });
    const callback = { id: 'id', sequence: 1, url: 'http://erp.dead/cb', secrets: ['whsec_c2VjcmV0'] };
    const result = sender.send(callback, new AbortController().signal);
    await until(() => server.asked.length === 2);
    await clock.advance(6_000);
    expect((await result).error).toBe('ETIMEOUT: The name servers do not answer for erp.dead.');
    sender.close();
  });
});

describe('the system', () => {
  it.each(['unknown.example', 'empty.example'])('is asked after all for %s, of which the servers know nothing', async (name) => {
    const { asked, system } = knowing();
    expect(await namesBy({ system })(name)).toEqual(bySystem);
    expect(asked).toEqual([name]);
    expect([...server.asked].sort()).toEqual([`A ${name}`, `AAAA ${name}`]);
  });

  it('is asked when there is no name server', async () => {
    const { asked, system } = knowing();
    await server.close();
    expect(await namesBy({ system })('erp.example')).toEqual(bySystem);
    expect(asked).toEqual(['erp.example']);
    server = await startNameServer({});
  });

  it('reports its own error', async () => {
    const failing: LookupAll = (name, _options, done) =>
      done(Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: 'ENOTFOUND' }), []);
    expect(await errorOf(namesBy({ system: failing })('unknown.example'))).toBe('ENOTFOUND: getaddrinfo ENOTFOUND unknown.example');
  });

  it.each(['erp', 'ERP.', 'localhost', 'localhost.', 'printer.local', 'Printer.LOCAL.', 'a.b.localhost', '.'])(
    'alone is asked for %s',
    async (name) => {
      const { asked, system } = knowing();
      expect(await namesBy({ system })(name)).toEqual(bySystem);
      expect([asked, server.asked]).toEqual([[name], []]);
    },
  );

  it.each(['notlocal.example', 'local.example', 'a.notlocal', 'localhost.example'])('is not the first to be asked for %s', async (name) => {
    const { system } = knowing();
    await namesBy({ system })(name);
    expect(server.asked).toHaveLength(2);
  });

  it('is asked for one name at a time, and lets 64 wait', async () => {
    const system = slow();
    const find = namesBy({ system: system.system });
    const answers = Array.from({ length: 66 }, (_, index) => errorOf(find(`erp${index}`)));
    expect(await answers[65]).toBe("LOOKUP_BUSY: Too many names wait for the system's name look-up; erp65 was not looked up.");
    for (let each = 0; each < 65; each += 1) {
      expect(system.underWay).toBe(1);
      await system.answerNext();
    }
    expect(system.asked).toEqual(Array.from({ length: 65 }, (_, index) => `erp${index}`));
    expect(await answers[64]).toBe(`found ${JSON.stringify(bySystem)}`);
    const next = find('erp66');
    await system.answerNext();
    expect(await next).toEqual(bySystem);
  });

  it('is asked for names of its own before unknown names, however many of these wait', async () => {
    const system = slow();
    const find = namesBy({ system: system.system });
    const unknown = Array.from({ length: 66 }, (_, index) => errorOf(find(`unknown${index}.example`)));
    expect(await Promise.race(unknown)).toContain('LOOKUP_BUSY');
    const own = find('erp');
    await system.answerNext();
    await system.answerNext();
    expect(await own).toEqual(bySystem);
    expect(system.asked).toHaveLength(3);
    expect(system.asked[1]).toBe('erp');
    for (let each = 0; each < 64; each += 1) await system.answerNext();
    expect((await Promise.all(unknown)).filter((text) => text.startsWith('found'))).toHaveLength(65);
  });

  it('is not asked any more for a name that has waited for ten seconds', async () => {
    const system = slow();
    const find = namesBy({ system: system.system });
    const answers = [errorOf(find('slow')), errorOf(find('late'))];
    await clock.advance(1);
    answers.push(errorOf(find('in-time')));
    await clock.advance(10_000);
    await system.answerNext();
    await system.answerNext();
    expect(await Promise.all(answers)).toEqual([
      `found ${JSON.stringify(bySystem)}`,
      "LOOKUP_BUSY: Too many names wait for the system's name look-up; late was not looked up.",
      `found ${JSON.stringify(bySystem)}`,
    ]);
    expect(system.asked).toEqual(['slow', 'in-time']);
  });

  it('continues with the next name after an error', async () => {
    const find = namesBy();
    expect(await errorOf(find('one'))).toContain('The system was asked for one.');
    expect(await errorOf(find('two'))).toContain('The system was asked for two.');
  });

  it('is the real one by default', async () => {
    const find = createNameLookup({ clock, servers: [server.address] });
    const found = await new Promise<LookupAddress[]>((resolve) => find('localhost', { all: true }, (_error, all) => resolve(all)));
    expect(found.map(({ address }) => address)).toContain('127.0.0.1');
    expect(server.asked).toEqual([]);
  });
});

describe('odd names', () => {
  const label = 'x'.repeat(63);

  it.each(['a_b.example', 'xn--bcher-kva.example', 'erp.example.', 'ERP.example'])('are found as usual: %s', async (name) => {
    expect((await namesBy()(name)).length).toBeGreaterThan(0);
  });

  it.each(['a..b', '.a.b', 'a.b..', `${label}x.example`, `${label}.`.repeat(5), 'a!b.example', "a'b.example"])(
    'that no host can have are never asked: %s',
    async (name) => {
      expect(await errorOf(namesBy()(name))).toBe(`EBADNAME: ${name} is not a valid host name for name servers.`);
      expect(server.asked).toEqual([]);
    },
  );

  it.each(['1.2.3', '0x7f.1', '127.0.0.1', '0177.0.0.1', '2130706433.'])('that look like numbers are names: %s', async (name) => {
    const { asked, system } = knowing();
    // Nothing is made of the digits: what is found is what a server or the system says.
    expect(await namesBy({ system })(name)).toEqual(bySystem);
    expect(asked).toEqual([name]);
  });

  it('lead only to allowed addresses: each found address is checked', async () => {
    const find = createNameLookup({ clock, servers: [server.address], system: lookup });
    const guard = createAddressGuard({ clock, allow: [], lookup: find });
    const judged = (name: string) =>
      new Promise<string>((resolve) => {
        guard.lookup(name, { all: true }, (error, found) => resolve(error?.message ?? `passed: ${JSON.stringify(found)}`));
      });
    for (const name of ['inner.example', 'localhost', '0x7f.1', '127.0.0.1', '127.1', '0177.0.0.1', '2130706433']) {
      expect(await judged(name)).toContain(`${name} is refused: the address 127.0.0.1 is not public`);
    }
  });
});
