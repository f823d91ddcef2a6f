// `tillgate doctor`: checks everything that a gateway needs before and while it runs, and reports each result with advice.
// It leaves no changes: it writes a byte into the data directory and deletes it, creates its own queue at the brokers and deletes it, and
// queries the database, with one write that is rolled back. It ends within half a minute, even if something hangs; to look through a large
// ledger takes longer, and shows how far it is.

import { ConfigError, readConfig } from '../../config.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { World } from '../../kernel/world.ts';
import type { Config } from '../../settings.ts';
import { probeDataDirectory } from '../data-directory.ts';
import { createLogger } from '../logger.ts';
import { askGateway, checkAddresses, deviceAddresses, hostsOfCertificate } from './address-check.ts';
import { checkCutOff, checkMqtt, checkQueue } from './broker-check.ts';
import { checkCertificate } from './certificate-check.ts';
import { checkDatabase } from './database-check.ts';
import { bounded, doubt, type Finding, good, trouble, type Verdict } from './finding.ts';
import { checkLedger } from './ledger-check.ts';
import { checkOpenFiles } from './limit-check.ts';

type Environment = Record<string, string | undefined> | undefined;

export interface DoctorWorld extends Pick<World, 'clock' | 'random'> {
  /** Absent: that of the process. */
  environment?: Record<string, string | undefined>;
  /** From --url: the gateway to check instead of the configured one. */
  url: string | undefined;
  /** How far a long check is. */
  onProgress?: (says: string) => void;
}

export interface Diagnosis {
  verdict: Verdict;
  findings: Finding[];
}

const littleBytes = 100 * 1024 * 1024;
const fewBytes = 1024 * 1024 * 1024;

export async function diagnose(world: DoctorWorld): Promise<Diagnosis> {
  const { config, findings } = checkSettings(world.environment);
  const all = config === undefined ? findings : [...findings, ...(await checkAll(config, world))];
  return { verdict: worst(all), findings: all };
}

function checkSettings(environment: Environment): { config: Config | undefined; findings: Finding[] } {
  const advice = 'docs/operating.md lists the settings.';
  try {
    const config = readConfig('serve', environment);
    const doubts = config.warnings.map((warning) => doubt('settings', warning, advice));
    return { config, findings: doubts.length > 0 ? doubts : [good('settings', '`serve` accepts them.')] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const findings = error.problems.map((problem) => trouble('settings', problem, '`serve` does not start with this.'));
    return { config: readable(environment), findings };
  }
}

/** Dangerous but valid settings can still be checked one by one. */
function readable(environment: Environment): Config | undefined {
  try {
    return { ...readConfig('sandbox', environment), mode: 'serve' };
  } catch {
    return undefined;
  }
}

async function checkAll(config: Config, world: DoctorWorld): Promise<Finding[]> {
  const { clock, url } = world;
  const addresses = deviceAddresses(config);
  // The other checks run in parallel; the embedded database is checked only after its disk has answered.
  const onDisk = async () => {
    if (config.databaseUrl !== undefined) return databaseFindings(config, world);
    const disk = await bounded('disk', clock, () => checkDisk(config, clock));
    return disk.some(({ verdict }) => verdict === 'bad') ? disk : [...disk, ...(await databaseFindings(config, world))];
  };
  const found = await Promise.all([
    onDisk(),
    bounded('mqtt broker', clock, () => checkMqtt(config, world)),
    bounded('queue', clock, () => checkQueue(config, world)),
    bounded('device logins', clock, () => checkCutOff(config, world)),
    bounded('open files', clock, () => checkOpenFiles(config)),
    bounded('certificate', clock, () => checkCertificate(config, hostsOfCertificate(config, addresses), clock)),
    bounded('addresses', clock, () => checkAddresses(addresses, clock)),
    ...(url === undefined ? [] : [bounded('gateway', clock, () => askGateway(url.replace(/\/+$/, ''), clock))]),
  ]);
  // Afterwards, because it may take minutes.
  return [...found.flat(), ...(await checkLedger(config, { ...world, logger: createLogger('silent') }))];
}

function databaseFindings(config: Config, { clock }: DoctorWorld): Promise<Finding[]> {
  return bounded('database', clock, () => checkDatabase(config, { clock, logger: createLogger('silent') }));
}

async function checkDisk({ dataDir }: Config, clock: Clock): Promise<Finding[]> {
  const found = await probeDataDirectory(dataDir, clock, { isMade: false });
  if ('sentence' in found)
    return [trouble('disk', found.sentence, 'It contains the embedded database: without it the gateway serves nothing.')];
  return judgeDisk(dataDir, found.freeBytes);
}

export function judgeDisk(dataDir: string, freeBytes: number): Finding[] {
  const free = `${dataDir} can be written, and ${(freeBytes / fewBytes).toFixed(1)} GiB are free`;
  if (freeBytes < littleBytes) return [trouble('disk', `${free}.`, 'Free some space: a full disk stops every payment.')];
  return [
    freeBytes < fewBytes ? doubt('disk', `${free}.`, 'Free some space soon: a full disk stops every payment.') : good('disk', `${free}.`),
  ];
}

function worst(findings: readonly Finding[]): Verdict {
  const verdicts = new Set(findings.map(({ verdict }) => verdict));
  return verdicts.has('bad') ? 'bad' : verdicts.has('warning') ? 'warning' : 'ok';
}

const marks: Record<Verdict, string> = { ok: 'ok  ', warning: 'look', bad: 'BAD ' };
const lastWords: Record<Verdict, string> = {
  ok: 'All checks passed.',
  warning: 'The gateway can run; see the warnings above.',
  bad: 'The gateway cannot or must not run with these problems.',
};

export function describeDiagnosis({ verdict, findings }: Diagnosis): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const lines = findings.flatMap(({ check, verdict: one, says, advice }) => [
    // Further lines are indented, so that none looks like another finding.
    `${marks[one]}  ${check.padEnd(width)}  ${says.replaceAll('\n', `\n${' '.repeat(width + 8)}`)}`,
    ...(advice === undefined ? [] : [`${' '.repeat(width + 8)}${advice}`]),
  ]);
  return [...lines, '', lastWords[verdict]].join('\n');
}
