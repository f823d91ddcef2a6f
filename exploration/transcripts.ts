// Transcripts: a text of calls, devices, people and time, and of what people see after each. The run writes the answers; people review them
// as a diff. A file is
//
//   # A title, and remarks
//   world terminals t1 t2
//
//   > Pay t1 n 150.00
//     3 Open p1: ...
import { perform } from './lines.ts';
import { shown } from './shown.ts';
import { firstState, oid, type State, type WorldOptions } from './world.ts';

export interface Transcript {
  /** What the file should be. */
  text: string;
  /** The states before each line that begins with `>`, and the last one. */
  states: readonly State[];
  /** The lines without `>`, with UUIDs for their aliases. */
  lines: readonly string[];
}

export function runTranscript(text: string): Transcript {
  const { body, aliases } = withAliases(text);
  const known = new Set<string>();
  const states: State[] = [];
  const lines: string[] = [];
  const written: string[] = [];
  let state: State | undefined;
  for (const line of body.split('\n')) {
    if (line.startsWith('  ')) continue;
    written.push(line);
    if (line.startsWith('world ')) state = firstState(worldOf(line));
    if (!line.startsWith('> ')) continue;
    if (!state) throw new Error('The line "world ..." must come first.');
    state = { ...state, sent: undefined };
    states.push(state);
    lines.push(line.slice(2));
    const acted = perform(state, line.slice(2));
    const seen = shown(state, acted, known);
    written.push(...seen.map((one) => `  ${one}`));
    state = acted.state;
  }
  if (state) states.push(state);
  return { text: aliases(written.join('\n')), states, lines };
}

/** `terminals t1 t2, registers reg1, invoices oid1, without journal t2` */
function worldOf(line: string): WorldOptions {
  const parts = line.slice('world '.length).split(', ');
  const listed = (name: string) =>
    parts
      .find((part) => part.startsWith(`${name} `))
      ?.slice(name.length + 1)
      .split(' ') ?? [];
  return {
    terminals: listed('terminals'),
    registers: listed('registers'),
    invoices: listed('invoices'),
    withoutJournal: listed('without journal'),
  };
}

/** `oid1` stands for a UUID, and `OID1` for the same one in capitals. */
function withAliases(text: string): { body: string; aliases: (text: string) => string } {
  // The first one is that of the worlds.
  const uuidOf = (number: string) => oid.slice(0, -12) + number.padStart(12, '0');
  const body = text.replaceAll(/\b(oid|OID)(\d+)\b/g, (_, name: string, number: string) =>
    name === 'oid' ? uuidOf(number) : uuidOf(number).toUpperCase(),
  );
  const back = /(a{8}|A{8})-0000-4000-8000-0*(\d+)/g;
  return {
    body,
    aliases: (written) =>
      written.replaceAll(back, (_, name: string, number: string) => (name === oid.slice(0, 8) ? 'oid' : 'OID') + number),
  };
}
