// The only reader of the environment. All problems are collected and reported together; the rooms receive plain values.
import { hostname } from 'node:os';
import { contradictions, dangers, doubts } from './setting-dangers.ts';
import { type Config, type Mode, type Settings, settings } from './settings.ts';
import { findUnknownSettings } from './unknown-settings.ts';

/** Thrown with every problem of the configuration at once, one sentence each. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

type Environment = Record<string, string | undefined>;

/** With TILLGATE_SANDBOX_STRICT the sandbox has the defaults of `serve` for these; they stand after it in the table. */
const strictSettings: ReadonlySet<string> = new Set<keyof Settings>(['invoiceAuth', 'callbackDelaysS']);

/** What the settings mean for `mode`; throws a ConfigError that lists everything wrong or dangerous. */
export function readConfig(mode: Mode, environment: Environment = process.env): Config {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  const written = new Set<string>();
  for (const [name, { variable, parse, fallback }] of Object.entries(settings)) {
    if (environment[variable]?.trim()) written.add(name);
    const isStrict = values['sandboxStrict'] === true && strictSettings.has(name);
    const given = environment[variable]?.trim() || (typeof fallback === 'object' ? fallback[isStrict ? 'serve' : mode] : fallback);
    if (given === undefined) continue;
    try {
      values[name] = parse(given);
    } catch (error) {
      problems.push(`${variable} ${(error as Error).message}; it is ${JSON.stringify(shown(variable, given))}.${serviceLinkHint(given)}`);
    }
  }
  const known = Object.values(settings).map((one) => one.variable);
  const given = Object.keys(environment).filter((variable) => environment[variable]?.trim());
  const unknown = findUnknownSettings(given, known);
  if (problems.length > 0) throw new ConfigError(mode === 'serve' ? [...problems, ...unknown.misspelled] : problems);
  const machine = { hostname: hostname(), pid: process.pid };
  const config = { ...values, ...machine, mode, given: written, warnings: unknown.others } as unknown as Config;
  problems.push(...contradictions(config), ...(mode === 'serve' ? [...dangers(config), ...unknown.misspelled] : []));
  config.warnings.push(...(mode === 'serve' ? doubts(config, environment['PGSSLMODE']) : unknown.misspelled));
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** Values of secret settings and logins inside addresses are not repeated in error messages. */
function shown(variable: string, given: string): string {
  return /TOKEN|URL/.test(variable) || given.includes('@') ? '(hidden)' : given;
}

/** Kubernetes and container links set TILLGATE_PORT for a Service of that name. */
function serviceLinkHint(given: string): string {
  return given.startsWith('tcp://') ? ' Kubernetes sets such values for its Services: put `enableServiceLinks: false` into the pod.' : '';
}
