// `tillgate conformance`: a gateway for one device under test, which checks every rule of the protocol page. It announces the amounts that it
// will charge; for a device on another machine it needs --yes. Exit codes: 0 no rule broken, 1 some broken, 2 wrong usage.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createDesk } from '../conformance/desk.ts';
import { type Person, realPace } from '../conformance/exam.ts';
import { announcement, countVerdicts, htmlReport, progressLine, textReport } from '../conformance/report.ts';
import { checks, runConformance } from '../conformance/run.ts';
import type { ProcessWorld } from '../gateway.ts';
import { parseAmount } from '../kernel/money.ts';
import { isLoopback } from '../kernel/network-of.ts';
import { type DeviceKind, deviceKinds } from '../link/protocol.ts';
import { conformanceOptions } from './conformance-options.ts';
import { helpLines, parseOptions, type Values, wholeNumberUpTo } from './options.ts';
import { UsageError } from './usage-error.ts';

interface Io {
  out(text: string): void;
  err(text: string): void;
  world: ProcessWorld;
  /** Standard input is a terminal: a person can act. */
  isInteractive: boolean;
}

const usage = 'Usage: tillgate conformance [--kind terminal|register] [--pair CODE] [--host ADDRESS] [--yes] [--json] [--html FILE] …';

const countOf = (kind: DeviceKind) => checks.filter((check) => check.kind === undefined || check.kind === kind).length;

function help(): string {
  return [
    usage,
    '',
    'Runs a gateway for one device: shows an address and a code, waits until the device has paired with them, and runs',
    `the checks of docs/device-protocol.md: ${countOf('terminal')} of a terminal, ${countOf('register')} of a register. Ends with a report of`,
    'the observations and the broken clauses.',
    '',
    ...helpLines(conformanceOptions),
  ].join('\n');
}

export async function conformance(args: string[], io: Io): Promise<number> {
  const asked = readArguments(args);
  if (asked === undefined) {
    io.out(help());
    return 0;
  }
  const { kind, amountBani, values } = asked;
  const tell = values.json ? io.err : io.out;
  tell(announcement(kind, amountBani / 100));
  if (!asked.isHere && !values.yes) {
    io.err('The device is not on this machine, so it may be a real one: add --yes if these amounts may be charged.');
    return 2;
  }
  const desk = createDesk({ ...io.world, ...asked, code: values.pair, mqttUrl: values['mqtt-url'], queueUrl: values['queue-url'] });
  const addresses = await desk.start();
  try {
    tell(
      asked.known
        ? `Waiting for ${desk.deviceId} on ${addresses.mqttUrl} and ${addresses.queueUrl}`
        : `Pair the device with the code ${desk.code} at ${addresses.baseUrl}`,
    );
    const report = await runConformance({
      ...io.world,
      bench: desk.bench,
      kind,
      gatewayId: desk.gatewayId,
      amountBani,
      pace: realPace,
      connectWithinMs: asked.waitMs,
      person: personOf(values, io, tell, desk.lockOut),
      onBegin() {},
      onFinding: (finding) => tell(progressLine(finding)),
    });
    if (values.json) io.out(JSON.stringify({ ...report, ...countVerdicts(report) }));
    else io.out(`\n${textReport(report)}`);
    tell(`To run again without pairing: --device-id ${desk.deviceId} --secret ${desk.secret}`);
    // Last: a failed write must not hide the report of the charges.
    if (values.html) writeFileSync(values.html, htmlReport(report, new Date(io.world.clock.now()).toISOString()));
    return countVerdicts(report).broken === 0 ? 0 : 1;
  } finally {
    await desk.stop();
  }
}

function readArguments(args: string[]) {
  const { values } = parseOptions(args, conformanceOptions, { usage });
  if (values.help) return undefined;
  const { host = '127.0.0.1' } = values;
  const kind = deviceKinds.find((known) => known === (values.kind ?? 'terminal'));
  if (!kind) throw new UsageError(`--kind takes terminal or register.\n${usage}`);
  const amountBani = parseAmount(values.amount ?? '1.00');
  if (amountBani === undefined) throw new UsageError('--amount takes an amount such as 1.00.');
  if (['0.0.0.0', '::', ''].includes(host)) throw new UsageError('--host takes the address under which the device can dial this machine.');
  for (const url of [values['mqtt-url'], values['queue-url']])
    if (url !== undefined && !URL.canParse(url)) throw new UsageError(`${url} is no address.`);
  const { 'device-id': deviceId, secret } = values;
  if ((deviceId === undefined) !== (secret === undefined)) throw new UsageError('--device-id and --secret belong together.');
  return {
    values,
    kind,
    amountBani,
    host,
    port: wholeNumberUpTo(65_535, '--port', values.port ?? '8090'),
    mqttPort: wholeNumberUpTo(65_535, '--mqtt-port', values['mqtt-port'] ?? '1890'),
    waitMs: wholeNumberUpTo(86_400, '--wait-s', values['wait-s'] ?? '600') * 1000,
    known: deviceId === undefined || secret === undefined ? undefined : { deviceId: deviceId.toLowerCase(), secret },
    // Devices on other machines may connect to a broker of the user.
    isHere: isLoopback(host) && values['mqtt-url'] === undefined && values['queue-url'] === undefined,
  };
}

function personOf(values: Values<typeof conformanceOptions>, io: Io, tell: (text: string) => void, lockOut: Person['lockOut']): Person {
  const command = values['reboot-command'];
  const byHand = async () => tell('  >> Unplug the device now, wait two seconds and plug it in again.');
  const reboot = command === undefined ? (io.isInteractive ? byHand : undefined) : () => runHook(command);
  return {
    tell: (sentence) => tell(`  >> ${sentence}`),
    ...(reboot && !values['no-reboot'] && { reboot }),
    ...(lockOut && { lockOut }),
  };
}

/** Run by the shell. */
function runHook(command: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, { shell: true, stdio: ['ignore', 'ignore', 'inherit'] });
    child.once('error', reject);
    child.once('exit', (code, signal) => (code === 0 ? resolve() : reject(new Error(`the reboot command ended with ${code ?? signal}.`))));
  });
}
