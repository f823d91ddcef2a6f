// The options of a command in one table: it gives the parser their types, --help its lines, and the completions their names.
import { parseArgs } from 'node:util';
import { withoutLogin } from '../kernel/url-parts.ts';
import { UsageError } from './usage-error.ts';

/** By name: whether a value follows, and the line of --help. */
export type Options = Readonly<Record<string, readonly [type: 'string' | 'boolean', meaning: string]>>;
export type Values<Own extends Options> = { [Name in keyof Own]?: Own[Name][0] extends 'string' ? string : boolean } & { help?: boolean };

export function parseOptions<Own extends Options>(
  args: string[],
  own: Own,
  { usage, allowPositionals = false }: { usage?: string; allowPositionals?: boolean } = {},
): { values: Values<Own>; positionals: string[] } {
  const options = Object.fromEntries(Object.entries(own).map(([name, [type]]) => [name, { type }]));
  try {
    const { values, positionals } = parseArgs({ args, options: { ...options, help: { type: 'boolean', short: 'h' } }, allowPositionals });
    return { values: values as Values<Own>, positionals };
  } catch (error) {
    throw new UsageError([(error as Error).message, ...(usage === undefined ? [] : [usage])].join('\n'));
  }
}

export const helpOption: Options = { help: ['boolean', 'show this text'] };

/** A meaning of several lines is indented. */
export function helpLines(own: Options): string[] {
  const width = Math.max(...Object.keys(own).map((name) => name.length));
  return Object.entries(own).map(
    ([name, [, meaning]]) => `  --${name.padEnd(width)}  ${meaning.replaceAll('\n', `\n${' '.repeat(width + 6)}`)}`,
  );
}

export function wholeNumberUpTo(most: number, option: string, text: string): number {
  if (!/^\d+$/.test(text) || Number(text) > most) throw new UsageError(`${option} takes a whole number up to ${most}.`);
  return Number(text);
}

/** Refused without repeating it: what stands before the @ is secret. */
export function addressOf(url: string): string {
  if (!URL.canParse(url) || withoutLogin(url) !== new URL(url).href)
    throw new UsageError('--url must be an address such as http://127.0.0.1:8080/tillgate, without a login.');
  return url;
}
