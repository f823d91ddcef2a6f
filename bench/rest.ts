// Start and memory at rest: sandbox and serve beside NestJS, each started several times in turn.
import { serveSettings, startSandboxProcess, startServeProcess, temporaryDirectory } from '../test/support/gateway-process.ts';
import { cpuMsOf, megabytesOf } from '../test/support/process-figures.ts';
import type { Bench } from './bench.ts';
import { homeSettings, startNestProcess } from './contenders.ts';
import { median } from './load.ts';
import type { Row } from './report.ts';

interface Started {
  readyMs: number;
  cpuMs: number;
  megabytes: number;
}

type Start = () => Promise<{ pid: number; end(): Promise<void> }>;

async function measure(start: Start, restMs: number): Promise<Started> {
  const from = performance.now();
  const { pid, end } = await start();
  const readyMs = performance.now() - from;
  const cpuMs = cpuMsOf(pid);
  await new Promise((resolve) => setTimeout(resolve, restMs));
  const megabytes = megabytesOf(pid);
  await end();
  return { readyMs, cpuMs, megabytes };
}

export async function restRows({ plan, peers, postgresUrl, mqttUrl, say }: Bench): Promise<Row[]> {
  say('start and memory at rest');
  const serve = async (home: Parameters<typeof homeSettings>[0]) => {
    const gateway = await startServeProcess(await serveSettings(await homeSettings(home)));
    return { pid: gateway.pid, end: gateway.kill9 };
  };
  const starts: Record<string, Start> = {
    'serve, PostgreSQL and Mosquitto': () => serve({ postgresUrl, mqttUrl }),
    'serve, embedded': () => serve({}),
    async sandbox() {
      const sandbox = await startSandboxProcess(temporaryDirectory());
      return { pid: sandbox.pid, end: sandbox.kill9 };
    },
  };
  if (peers !== undefined)
    starts['NestJS'] = async () => {
      const { child } = await startNestProcess(peers, { postgresUrl, brokerUrl: mqttUrl });
      return { pid: child.pid ?? 0, end: async () => void child.kill('SIGKILL') };
    };
  // Not counted: the first start after a change writes the compile cache that later ones read [D108].
  for (const start of Object.values(starts)) await measure(start, 0);
  const seen = new Map(Object.keys(starts).map((name) => [name, [] as Started[]]));
  for (let turn = 0; turn < plan.starts; turn += 1)
    for (const [name, start] of Object.entries(starts)) seen.get(name)?.push(await measure(start, plan.restMs));
  const middle = (name: string, of: keyof Started) => median((seen.get(name) ?? []).map((started) => started[of]));
  const ours = Object.keys(starts).filter((name) => name !== 'NestJS');
  const rows = (group: string, unit: Row['unit'], of: keyof Started) =>
    ours.map(
      (what): Row => ({
        group,
        what,
        unit,
        ours: middle(what, of),
        ...(peers !== undefined && { peer: { name: 'NestJS', value: middle('NestJS', of) }, goal: 1 }),
      }),
    );
  return [
    ...rows('start to ready', 'ms', 'readyMs'),
    ...rows('start to ready, processor time', 'ms', 'cpuMs'),
    ...rows('memory at rest', 'MB', 'megabytes'),
  ];
}
