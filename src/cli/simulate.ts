// `tillgate simulate`: a virtual device as its own process against any gateway, or one that scans an invoice, takes the money, prints and
// reports it paid. Its login is stored in its state directory, so the next start needs no pairing code.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readConfig } from '../config.ts';
import type { ProcessWorld } from '../gateway.ts';
import { StartRefused } from '../kernel/start-refused.ts';
import { visibleLine } from '../kernel/visible-text.ts';
import type { DeviceKind } from '../link/protocol.ts';
import { type FaultStep, noFaults, parseFaultScript, playFaultScript } from '../virtual/mishaps/faults.ts';
import { describeMagic } from '../virtual/mishaps/magic-amounts.ts';
import { startVirtualDevice } from '../virtual/run.ts';
import { scanInvoice } from '../virtual/scan.ts';
import { holdStateDir } from '../virtual/state-hold.ts';
import { whyNoAnswer } from './cabinet-commands.ts';
import { addressOf, helpLines, parseOptions } from './options.ts';
import { configuredAddress } from './running-gateway.ts';
import { readSandboxFile } from './sandbox-file.ts';
import { simulateOptions } from './simulate-options.ts';
import { UsageError } from './usage-error.ts';

interface Io {
  out(text: string): void;
  err(text: string): void;
  world: ProcessWorld;
  /** Resolves when the user stops the command. */
  untilStopped(stop: () => Promise<void>): Promise<number>;
}

/** The stored result of pairing. */
interface Identity {
  baseUrl: string;
  kind: DeviceKind;
  name: string;
  bank?: string;
  deviceId: string;
  secret: string;
  mqttUrl: string;
  queueUrl: string;
  /** Registered with the sandbox of the data directory, whose addresses may change at its next start. */
  isOfSandbox?: boolean;
}

const usage =
  'Usage: tillgate simulate --kind terminal|register [--pair CODE] [--url URL] [--state-dir DIR] [--faults FILE] [--slow-ms N] [--customer-ms N] [scan QR]';

function help(): string {
  return [
    usage,
    '',
    'Runs a virtual device that uses the real protocol until Ctrl-C. With `scan QR` it fetches that invoice, takes the money, prints,',
    'reports it paid and ends.',
    '',
    ...helpLines(simulateOptions),
    '',
    `Faults: ${Object.keys(noFaults).join(', ')}`,
    '',
    'Magic amounts of a terminal, by the last two digits:',
    ...describeMagic('terminal').map((line) => `  ${line}`),
    'Magic amounts of a register:',
    ...describeMagic('register').map((line) => `  ${line}`),
  ].join('\n');
}

export async function simulate(args: string[], io: Io): Promise<number> {
  const { values, positionals } = parseOptions(args, simulateOptions, { usage, allowPositionals: true });
  if (values.help) {
    io.out(help());
    return 0;
  }
  const { kind } = values;
  if (kind !== 'terminal' && kind !== 'register') throw wrong('--kind takes terminal or register.');
  const [action, qr, ...more] = positionals;
  if (more.length > 0 || (action !== undefined && (action !== 'scan' || qr === undefined))) throw wrong('The only action is: scan QR.');
  const { 'slow-ms': slowMs, 'customer-ms': customerMs } = values;
  for (const [option, text] of Object.entries({ 'slow-ms': slowMs, 'customer-ms': customerMs }))
    if (text !== undefined && !/^\d{1,6}$/.test(text)) throw wrong(`--${option} takes a number of milliseconds.`);
  if (values.url !== undefined) addressOf(values.url);
  const script = values.faults === undefined ? [] : readFaultScript(values.faults);
  const config = readConfig('sandbox');
  const stateDir = resolve(values['state-dir'] ?? join(config.dataDir, 'simulate', kind));
  const release = holdStateDir(stateDir);
  try {
    const identity = await identify(kind, stateDir, config, values);
    const device = await startVirtualDevice({
      ...io.world,
      ...identity,
      stateDir,
      vat: config.vat,
      limitShiftTo24h: config.limitShiftTo24h,
      timing: { ...(slowMs && { slowMs: Number(slowMs) }), ...(customerMs && { customerMs: Number(customerMs) }) },
      log: values.json ? () => {} : (line: string) => io.out(visibleLine(line)),
    });
    playFaultScript(script, io.world.clock, (faults) => device.setFaults(faults));
    if (qr === undefined) {
      io.out(`${identity.name} (${identity.deviceId}) serves ${identity.baseUrl}; Ctrl-C ends.`);
      return await io.untilStopped(() => device.stop());
    }
    try {
      const outcome = await scanInvoice({ baseUrl: identity.baseUrl, qr, device, deviceSecret: identity.secret, clock: io.world.clock });
      io.out(
        values.json
          ? JSON.stringify(outcome)
          : outcome.steps.map(({ step, isOk, detail }) => `${isOk ? 'ok ' : 'NO '} ${step.padEnd(5)} ${visibleLine(detail)}`).join('\n'),
      );
      return outcome.isPaid ? 0 : 1;
    } finally {
      await device.stop();
    }
  } finally {
    release();
  }
}

function readFaultScript(path: string): FaultStep[] {
  try {
    return parseFaultScript(JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    throw new StartRefused(`The fault script ${path} cannot be used: ${(error as Error).message}`);
  }
}

const wrong = (sentence: string) => new UsageError(`${sentence}\n${usage}`);

/** The identity from the state directory, by the pairing code, or by registering with the local sandbox. */
async function identify(
  kind: DeviceKind,
  stateDir: string,
  config: ReturnType<typeof readConfig>,
  values: { pair?: string; url?: string },
): Promise<Identity> {
  const path = join(stateDir, 'device.json');
  const sandbox = readSandboxFile(join(config.dataDir, 'sandbox.json'));
  if (values.pair === undefined && existsSync(path)) {
    const known = JSON.parse(readFileSync(path, 'utf8')) as Identity;
    if (known.kind !== kind) throw new StartRefused(`The device in ${stateDir} is a ${known.kind}; use another --state-dir.`);
    const { baseUrl, mqttUrl, queueUrl } = (known.isOfSandbox && sandbox) || known;
    return { ...known, baseUrl: values.url?.replace(/\/+$/, '') ?? baseUrl, mqttUrl, queueUrl };
  }
  // A pairing code is of the gateway that made it, which sandbox.json does not know.
  const ofSandbox = values.pair === undefined ? sandbox?.baseUrl : undefined;
  const baseUrl = (values.url ?? ofSandbox ?? configuredAddress(config)).replace(/\/+$/, '');
  const code = values.pair ?? (await registerWithSandbox(kind, baseUrl, sandbox));
  const paired = await post(`${baseUrl}/pairing`, { code });
  const identity: Identity = {
    baseUrl,
    kind: paired['kind'] as DeviceKind,
    name: paired['name'] as string,
    ...(typeof paired['bank'] === 'string' ? { bank: paired['bank'] } : {}),
    deviceId: paired['deviceId'] as string,
    secret: paired['secret'] as string,
    mqttUrl: (paired['mqtt'] as { url: string }).url,
    queueUrl: (paired['queue'] as { url: string }).url,
    ...(values.pair === undefined ? { isOfSandbox: true } : {}),
  };
  if (identity.kind !== kind) throw new StartRefused(`That code is for a ${identity.kind}; use --kind ${identity.kind}.`);
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  writeFileSync(path, `${JSON.stringify(identity, null, 2)}\n`, { mode: 0o600 });
  return identity;
}

async function registerWithSandbox(kind: DeviceKind, baseUrl: string, sandbox: ReturnType<typeof readSandboxFile>): Promise<string> {
  if (!sandbox) throw new StartRefused('Give a pairing code with --pair, or start the sandbox in TILLGATE_DATA_DIR first (npm start).');
  const request = { merchantId: sandbox.merchantId, kind, name: `Simulated ${kind}` };
  const { pairingCode } = await post(`${baseUrl}/cabinet/api/devices`, request, { authorization: `Bearer ${sandbox.adminToken}` });
  return pairingCode as string;
}

async function post(address: string, body: object, headers: Record<string, string> = {}): Promise<Record<string, unknown>> {
  let response: Response;
  try {
    response = await fetch(address, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  } catch (error) {
    throw new StartRefused(`No gateway answers at ${address}. ${whyNoAnswer(error)} Start one, or name another with --url.`);
  }
  const answer = (await response.json()) as Record<string, unknown>;
  if (answer['errorCode'] !== 0) throw new StartRefused(String(answer['errorMessage']));
  return answer;
}
