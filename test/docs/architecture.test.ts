// docs/architecture.md draws what the code does: floors, the life of an invoice and the life of a ledger command.
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { stateNames, transitions } from '../../src/invoices/rules.ts';
import { systemClock } from '../../src/kernel/system.ts';
import type { Command, CommandState, SettledBy, SettledState } from '../../src/ledger/command.ts';
import { dispute, resolve } from '../../src/ledger/dispute-store.ts';
import { findCommand, markUnknown } from '../../src/ledger/store.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { settle } from '../support/ledger-statements.ts';
import { floors, topFiles } from '../support/tidy/floors.ts';

const page = readFileSync(new URL('../../docs/architecture.md', import.meta.url), 'utf8');

function drawn(name: string): string {
  const text = new RegExp(`<!-- ${name}:[^>]*-->\\n\`\`\`\\w+\\n([\\s\\S]*?)\`\`\`\\n<!-- end of ${name} -->`).exec(page)?.[1];
  if (text === undefined) throw new Error(`The page has no picture ${name}.`);
  return text;
}

interface Arrow {
  from: string;
  to: string;
  label: string;
}

/** The arrows of a state diagram but the one from its beginning. */
function arrows(name: string): Arrow[] {
  return [...drawn(name).matchAll(/^ {2}(\w+) --> (\w+) : (.+)$/gm)].map(([, from = '', to = '', label = '']) => ({ from, to, label }));
}

// Written as records, so that the compiler finds a state or a way that is missing here.
const commandStates = Object.keys({ sent: 1, unknown: 1, done: 1, refused: 1, never: 1, disputed: 1 } satisfies Record<
  CommandState,
  1
>) as CommandState[];
const ways = {
  answer: ['done', 'refused', 'never'],
  'late-answer': ['done', 'refused', 'never'],
  recall: ['done', 'refused', 'never'],
  'last-transaction': ['done', 'refused'],
  person: ['done', 'refused'],
  gateway: ['never'],
} satisfies Record<SettledBy, SettledState[]>;

describe('the floors', () => {
  it('are those that the tidy test enforces', () => {
    const rows = drawn('floors')
      .trim()
      .split('\n')
      .map((row) => row.split(/[\s,]+/));
    const [top = [], ...rooms] = rows;
    expect(rooms.reverse().map((row) => row.filter((room) => room !== 'virtual'))).toEqual(floors.map((row) => [...row]));
    expect(top).toEqual(['cli', 'gateway']);
    expect(topFiles['src/gateway.ts']).toBe('wiring');
  });

  it('name rooms and files that exist', () => {
    const rows = [...page.matchAll(/^\| `(src\/[\w./]+)`[^|]*\|[^|]*\|(?: `([\w.-]+)`)? *\|$/gm)];
    expect(rows.length).toBeGreaterThan(14);
    for (const [, place = '', file] of rows) {
      const path = file === undefined ? place : `${place}/${file}`;
      expect(existsSync(new URL(`../../${path}`, import.meta.url)), path).toBe(true);
    }
  });
});

describe('the journeys', () => {
  it('cross files that exist', () => {
    const steps = [...page.matchAll(/^\| [^|`]+ \| (`[^|]+`) \|$/gm)].flatMap(([, cell = '']) => [...cell.matchAll(/`([^`]+)`/g)]);
    expect(steps.length).toBeGreaterThan(20);
    for (const [, file = ''] of steps) expect(existsSync(new URL(`../../src/${file}`, import.meta.url)), file).toBe(true);
  });
});

describe('the life of an invoice', () => {
  it('is the table in rules.ts', () => {
    const expected = transitions.map(({ from, to, trigger, condition }) => ({
      from: stateNames[from],
      to: stateNames[to],
      label: `${trigger}, ${condition}`,
    }));
    expect(arrows('invoice states')).toEqual(expected);
  });
});

async function moveTo(database: Database, command: Command, to: CommandState): Promise<Command | undefined> {
  const { engine, queries } = database;
  if (to === 'unknown') return markUnknown(queries, command.id, 0);
  // The device agrees with what it said before, or it disputes.
  if (to === 'disputed') {
    const said = command.state === 'done' ? 'refused' : 'done';
    const isOpen = command.state === 'sent' || command.state === 'unknown';
    return isOpen || command.state === 'disputed'
      ? undefined
      : dispute(engine, queries, command, { contradiction: said, why: 'why', outcome: said, isFromOwnJournal: true });
  }
  if (command.state === 'disputed' && to !== 'never')
    return (await resolve(engine, queries, command, { state: to as 'done', reason: 'why', report: undefined, isPayment: true }))?.command;
  const settlement = { by: 'answer', outcome: undefined, report: undefined, reason: undefined } as const;
  return settle(database, command, { ...settlement, state: to as SettledState });
}

describe('the life of a ledger command', () => {
  it('is what the guarded updates do', async () => {
    const database = await memoryDatabase(systemClock);
    const { queries } = database;
    const merchant = await seedMerchant(queries);
    const moved: string[] = [];
    for (const from of commandStates) {
      for (const to of commandStates.filter((state) => state !== 'sent')) {
        const device = await seedDevice(queries, merchant.id);
        const isOpen = from === 'sent' || from === 'unknown';
        const { id } = await seedCommand(queries, merchant.id, device.id, {
          state: from,
          ...(isOpen ? {} : { settled_at: 1, settled_by: 'answer' as const }),
          ...(from === 'done' ? { document_state: 'open' as const } : {}),
        });
        const command = await findCommand(queries, id);
        if (!command) throw new Error('The command was not written.');
        const result = await moveTo(database, command, to);
        if (result) moved.push(`${from} ${to}`);
      }
    }
    await database.close();
    expect(
      arrows('ledger states')
        .map(({ from, to }) => `${from} ${to}`)
        .sort(),
    ).toEqual(moved.sort());
  });

  it('names every way to a settlement, and where it leads', () => {
    for (const { from, to, label } of arrows('ledger states')) {
      if (to === 'unknown' || to === 'disputed' || from === 'disputed') continue;
      const expected = Object.entries(ways).flatMap(([way, states]) => ((states as string[]).includes(to) ? [way] : []));
      expect({ to, ways: label.split(', ') }).toEqual({ to, ways: expected });
    }
  });
});
