// Shared by all parts of the bench: durations, servers, the peers if wanted, and a list of processes to end.
import { join } from 'node:path';
import { provideServers } from '../scripts/test-servers.ts';
import { temporaryDirectory } from '../test/support/gateway-process.ts';
import { startRabbitmq } from '../test/support/servers/rabbitmq.ts';
import { type Contender, startNest, startTillgate } from './contenders.ts';
import { installPeers } from './peers.ts';
import { bareRoute, mqttRoundTrips, type RawLimit } from './raw.ts';
import type { Sizes } from './turns.ts';

export type Form = 'quick' | 'usual' | 'full';

interface Plan extends Sizes {
  callbacks: number;
  callbackRounds: number;
  /** Of single ones, without other load. */
  loneCallbacks: number;
  starts: number;
  restMs: number;
  /** Connected, for memory and growth. */
  deviceCounts: number[];
  storedRows: { postgres: number[]; sqlite: number[] };
}

const usual: Plan = {
  rounds: 3,
  forMs: 1_800,
  warmUpMs: 400,
  // V8 needs some 20,000 calls until a command takes no less processor time: 1.4 ms at first, 0.5 then.
  firstWarmUpCalls: 30_000,
  atLeastCalls: 400,
  callbacks: 3_000,
  callbackRounds: 3,
  loneCallbacks: 200,
  starts: 3,
  // Node releases memory ten seconds after a full garbage collection, if there was one [D133].
  restMs: 12_000,
  deviceCounts: [10, 1_000, 10_000],
  storedRows: { postgres: [1_000, 100_000], sqlite: [1_000, 100_000] },
};

export const plans: Record<Form, Plan> = {
  quick: {
    ...usual,
    rounds: 2,
    forMs: 300,
    warmUpMs: 150,
    // Enough for Tillgate, whose code is compiled sooner [D135], and for the raw parts.
    firstWarmUpCalls: 4_000,
    callbacks: 300,
    callbackRounds: 1,
    loneCallbacks: 20,
    starts: 1,
    restMs: 1_000,
    // Only with --only: to check that these parts run.
    deviceCounts: [10, 1_000],
    storedRows: { postgres: [1_000, 10_000], sqlite: [1_000, 10_000] },
  },
  usual,
  full: { ...usual, rounds: 5, forMs: 4_000, storedRows: { postgres: [1_000, 100_000, 10_000_000], sqlite: [1_000, 100_000] } },
};

interface Stoppable {
  stop(): Promise<void> | void;
}

export interface Bench {
  form: Form;
  plan: Plan;
  postgresUrl: string;
  mqttUrl: string;
  /** The directory of the peers; undefined to compare Tillgate with the raw parts only. */
  peers: string | undefined;
  say(line: string): void;
  /** Ended with the bench, if not before. */
  keep<Part extends Stoppable>(part: Part): Part;
  /** Started on first use, and then shared. */
  shared: {
    tillgate(): Promise<Contender>;
    embedded(): Promise<Contender>;
    nest(): Promise<Contender | undefined>;
    route(): Promise<RawLimit>;
    mqtt(): Promise<RawLimit>;
    /** A separate RabbitMQ, whose single login may send in the name of any device. */
    rabbitmq(): Promise<{ url: string }>;
  };
  newFile(name: string): string;
  stop(): Promise<void>;
}

export const lanes = 64;

export async function openBench(form: Form, withPeers: boolean, withRabbitmq: boolean, say: (line: string) => void): Promise<Bench> {
  const peers = withPeers ? installPeers(say) : undefined;
  const servers = await provideServers(say, { names: ['PostgreSQL', 'Mosquitto', ...(withRabbitmq ? ['RabbitMQ'] : [])] });
  const server = (name: string) => servers.variables[name] ?? process.env[name] ?? '';
  const postgresUrl = server('TILLGATE_TEST_POSTGRES_URL');
  const mqttUrl = server('TILLGATE_TEST_MOSQUITTO_URL');
  const running: Stoppable[] = [servers];
  const keep = <Part extends Stoppable>(part: Part): Part => {
    running.push(part);
    return part;
  };
  const once = <Part extends Stoppable>(what: string, start: () => Promise<Part>) => {
    let started: Promise<Part> | undefined;
    return () => {
      started ??= (async () => {
        say(`starting ${what}`);
        return keep(await start());
      })();
      return started;
    };
  };
  return {
    form,
    plan: plans[form],
    postgresUrl,
    mqttUrl,
    peers,
    say,
    keep,
    shared: {
      tillgate: once('Tillgate on PostgreSQL and Mosquitto', () => startTillgate('Tillgate', lanes, { postgresUrl, mqttUrl })),
      embedded: once('Tillgate, all embedded', () => startTillgate('embedded', lanes)),
      nest:
        peers === undefined ? async () => undefined : once('NestJS', () => startNest(peers, lanes, { postgresUrl, brokerUrl: mqttUrl })),
      route: once('a bare route', bareRoute),
      mqtt: once('bare MQTT', () => mqttRoundTrips(mqttUrl)),
      rabbitmq: once('RabbitMQ', () =>
        startRabbitmq({ users: [{ name: 'bench', password: 'bench', tags: ['administrator', 'impersonator'] }] }),
      ),
    },
    newFile: (name) => join(temporaryDirectory(), name),
    async stop() {
      for (const part of running.splice(0).reverse()) await part.stop();
    },
  };
}
