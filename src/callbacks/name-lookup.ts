// Resolves host names without letting a dead zone delay other names [D127]. The system's lookup blocks one of two threads of the process
// for ten seconds and more when name servers are silent. So the name servers are queried directly, which needs no thread, and the system
// only for names that it alone knows, one at a time. The address guard checks the addresses.
import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import type { Clock } from '../kernel/clock.ts';
import { createGate, type Gate } from '../kernel/gate.ts';
import { Timers } from '../kernel/timers.ts';

export type LookupAll = (
  hostname: string,
  options: { all: true; family?: number },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface NameLookupDeps {
  clock: Clock;
  /** Name servers instead of those in resolv.conf. */
  servers?: readonly string[];
  /** Replaces the system's look-up. */
  system?: LookupAll;
}

class NameLookupFailed extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

type Ask = (name: string) => Promise<LookupAddress[]>;

const tryMs = 2_000;
const maxTries = 2;
/** For all tries at all servers: well within an attempt's 15 s. */
const maxAskingMs = 6_000;
/** After one kind of address is found, this long for the other. */
const otherKindMs = 1_000;
const serverFailures: ReadonlySet<string> = new Set(['EREFUSED', 'ESERVFAIL', 'ENOTIMP']);
const maxWaiting = 64;
/** After that, the attempt has no time left to use the address. */
const maxWaitMs = 10_000;

export function createNameLookup(deps: NameLookupDeps): LookupAll {
  const { clock, servers } = deps;
  const gate = createGate(1);
  const system = { clock, gate, lookup: deps.system ?? systemLookup };
  // Two queues: names that only the system knows go before unknown names, of which a merchant can invent any number.
  const askSystem = createLine({ ...system, isAhead: true });
  const askSystemLast = createLine({ ...system, isAhead: false });

  async function addressesOf(name: string): Promise<LookupAddress[]> {
    if (isOnlyForSystem(name)) return askSystem(name);
    const found = await askServers(name, clock, servers);
    // Only the system knows search domains and other sources of names.
    return found.length > 0 ? found : askSystemLast(name);
  }

  return (name, _options, done) => {
    addressesOf(name).then(
      (found) => done(null, found),
      (error: NodeJS.ErrnoException) => done(error, []),
    );
  };
}

function isOnlyForSystem(written: string): boolean {
  const name = written.toLowerCase().replace(/\.$/, '');
  return !name.includes('.') || /\.(local|localhost)$/.test(name);
}

/**
 * An empty result is an answer of the servers; silence is an error. The resolver itself skips a silent server, but not one that refuses or
 * fails: a local server that refuses external names may be listed before a good one.
 */
async function askServers(name: string, clock: Clock, given: readonly string[] | undefined): Promise<LookupAddress[]> {
  const untilMs = clock.elapsed() + maxAskingMs;
  for (let servers = given; ; ) {
    try {
      return await queryServers(name, clock, servers, untilMs - clock.elapsed());
    } catch (error) {
      if (!serverFailures.has((error as NameLookupFailed).code)) throw error;
      servers = (servers ?? new Resolver().getServers()).slice(1);
      if (servers.length === 0 || clock.elapsed() >= untilMs) throw error;
    }
  }
}

/** `servers` defaults to those in resolv.conf, read now. */
async function queryServers(name: string, clock: Clock, servers: readonly string[] | undefined, maxMs: number): Promise<LookupAddress[]> {
  // A new resolver for each query, so that it can be cancelled alone.
  const resolver = new Resolver({ timeout: tryMs, tries: maxTries });
  if (servers) resolver.setServers(servers);
  const timers = new Timers(clock);
  const giveUpIn = (ms: number) => timers.after(ms, () => resolver.cancel());
  const addresses = async (family: number, question: Promise<string[]>) => {
    const found = await question;
    giveUpIn(otherKindMs);
    return found.map((address) => ({ address, family }));
  };

  giveUpIn(maxMs);
  const answers = await Promise.allSettled([addresses(4, resolver.resolve4(name)), addresses(6, resolver.resolve6(name))]);
  timers.stop();
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  const codes = answers.flatMap((answer) => (answer.status === 'rejected' ? [(answer.reason as NodeJS.ErrnoException).code ?? ''] : []));
  const failure = codes.find((code) => !isNegativeAnswer(code));
  if (found.length === 0 && failure !== undefined) throw failed(failure, name);
  return found;
}

/** The name does not exist, it has no address of this kind, or there is no name server. */
function isNegativeAnswer(code: string): boolean {
  return ['ENOTFOUND', 'ENODATA', 'ECONNREFUSED'].includes(code);
}

function failed(code: string, name: string): NameLookupFailed {
  if (code === 'ETIMEOUT' || code === 'ECANCELLED') return new NameLookupFailed('ETIMEOUT', `The name servers do not answer for ${name}.`);
  if (code === 'EBADNAME') return new NameLookupFailed(code, `${name} is not a valid host name for name servers.`);
  return new NameLookupFailed(code, `The name servers failed to resolve ${name}.`);
}

/** A queue for the system's look-up. `isAhead`: it has priority over the other queue. */
function createLine(deps: { clock: Clock; gate: Gate; lookup: LookupAll; isAhead: boolean }): Ask {
  const { clock, gate, lookup } = deps;
  let inLine = 0;

  const tooMany = (name: string) =>
    new NameLookupFailed('LOOKUP_BUSY', `Too many names wait for the system's name look-up; ${name} was not looked up.`);

  const ask: Ask = (name) =>
    new Promise((resolve, reject) => {
      lookup(name, { all: true }, (error, found) => (error ? reject(error) : resolve(found)));
    });

  return async (name) => {
    // One of them is being looked up and does not wait.
    if (inLine > maxWaiting) throw tooMany(name);
    inLine += 1;
    const since = clock.elapsed();
    try {
      return await gate.run(() => {
        if (clock.elapsed() - since > maxWaitMs) throw tooMany(name);
        return ask(name);
      }, deps.isAhead);
    } finally {
      inLine -= 1;
    }
  };
}
