// Bugs in the commit of the new core and in the loop around it.
import type { PlantedBug } from './planted-bug.ts';

export const coreCommitBugs: readonly PlantedBug[] = [
  {
    core: 'new',
    name: 'takes an unclear commit for done',
    kind: 'commit and publish',
    harm: 'lost money',
    edits: [
      {
        room: 'src/database',
        find: "return isFinal ? 'conflict' : 'unclear';",
        instead: "return isFinal ? 'conflict' : { now: 0, assigned: unit.inserts.map(() => ({})) };",
      },
      {
        room: 'src/database',
        find: "if (isDatabaseDown(error)) return 'unclear';",
        instead: 'if (isDatabaseDown(error)) return { now: 0, assigned: unit.inserts.map(() => ({})) };',
      },
    ],
    tests: ['test/database/commit.test.ts', 'test/money/two-at-once.test.ts'],
  },
  {
    core: 'new',
    name: 'takes an unclear commit for one that was not made',
    kind: 'commit and publish',
    harm: 'stuck',
    edits: [
      {
        room: 'src/database',
        find: 'if (found) return found;',
        instead: "if (found) return 'conflict';",
      },
    ],
    tests: ['test/database/commit.test.ts', 'test/money/two-at-once.test.ts'],
  },
  {
    core: 'new',
    name: 'does not count the rows that SQLite has written',
    kind: 'guards',
    harm: 'double charge',
    edits: [
      {
        room: 'src/database',
        find: "if (engine === 'sqlite') listed.list.push(mustCount(",
        instead: "if (engine !== 'sqlite') listed.list.push(mustCount(",
      },
    ],
    tests: ['test/database/commit.test.ts', 'test/money/two-at-once.test.ts'],
  },
  {
    core: 'new',
    name: 'does not look for what must not be there',
    kind: 'guards',
    harm: 'double charge',
    edits: [
      {
        room: 'src/database',
        find: 'const isNone = sql`not exists (select 1 from ${rowsOf(from)})`;',
        instead: 'const isNone = sql`(not exists (select 1 from ${rowsOf(from)}) or true)`;',
      },
    ],
    tests: ['test/database/commit.test.ts', 'test/money/two-at-once.test.ts'],
  },
  {
    core: 'new',
    name: 'commits two units of one row together',
    kind: 'locks',
    harm: 'lie',
    edits: [
      {
        room: 'src/database',
        find: '...writes.flatMap((write) => (isUnguarded(write) ? [] : [nameOf(write.table, write.key)])),',
        instead: '...writes.flatMap((write) => (isUnguarded(write) ? [nameOf(write.table, write.key)] : [])),',
      },
    ],
    tests: ['test/database/commit.test.ts', 'test/money/two-at-once.test.ts'],
  },
  {
    core: 'new',
    name: 'locks the rows of a batch in the order in which they came',
    kind: 'locks',
    harm: 'lie',
    edits: [
      {
        room: 'src/database',
        find: 'keyed.sort((a, b) => (a.text < b.text ? -1 : Number(a.text > b.text)));',
        instead: 'keyed.sort(() => 0);',
      },
    ],
    tests: ['test/database/commit.test.ts', 'test/money/two-at-once.test.ts'],
  },
  {
    core: 'new',
    name: 'keeps a remembered case after a conflict',
    kind: 'guards',
    harm: 'lie',
    edits: [
      {
        room: 'src/money',
        find: "    if (result === 'conflict') {\n      memory.forget(event);",
        instead: "    if (result === 'conflict') {",
      },
    ],
    tests: ['test/money/run.test.ts'],
  },
  {
    core: 'new',
    name: 'answers from a remembered case without a commit',
    kind: 'commit and publish',
    harm: 'lie',
    edits: [
      {
        room: 'src/money',
        find: 'return isLoaded(known.case) ? said(known.case, decided) : undefined;',
        instead: 'return said(known.case, decided);',
      },
    ],
    tests: ['test/money/run.test.ts'],
  },
  {
    core: 'new',
    name: 'answers although its commit met a conflict',
    kind: 'commit and publish',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: '      memory.forget(event);\n      return undefined;\n    }',
        instead: '      memory.forget(event);\n      return said(decided.next, decided);\n    }',
      },
    ],
    tests: ['test/money/run.test.ts'],
  },
  {
    core: 'new',
    name: 'sends although it does not know whether its commit succeeded',
    kind: 'commit and publish',
    harm: 'lost money',
    edits: [
      {
        room: 'src/money',
        find: "if (result === 'unclear') throw unclear(event, unit);",
        instead: "if (result === 'unclear') return said(decided.next, decided);",
      },
    ],
    tests: ['test/money/run.test.ts'],
  },
  {
    core: 'new',
    name: 'does not read back what may have been committed',
    kind: 'commit and publish',
    harm: 'stuck',
    edits: [
      {
        room: 'src/money',
        find: "if (table === 'commands') deps.readBack(String(row['id']));",
        instead: "if (table === 'no commands') deps.readBack(String(row['id']));",
      },
    ],
    tests: ['test/money/run.test.ts'],
  },
  {
    core: 'new',
    name: 'begins what a caller who is gone has asked for',
    kind: 'joins',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: 'if (recipient?.hasLeft() && begins(unit)) throw callerIsGone();',
        instead: '',
      },
    ],
    tests: ['test/money/run.test.ts'],
  },
  {
    core: 'new',
    name: 'wakes those who wait before the commit',
    kind: 'commit and publish',
    harm: 'lie',
    edits: [
      {
        room: 'src/money',
        find: '    const result = await commit.add(unit);',
        instead: '    follow(known.case, decided, callbacks);\n    const result = await commit.add(unit);',
      },
    ],
    tests: ['test/money/run.test.ts'],
  },
  {
    core: 'new',
    name: 'lets calls about one device disturb each other again and again',
    kind: 'locks',
    harm: 'lie',
    edits: [
      {
        room: 'src/money',
        find: 'turns.take(placeOf(event), step)',
        instead: 'turns.take(`${placeOf(event)} ${tries} ${clock.elapsed()} ${Math.random()}`, step)',
      },
    ],
    tests: ['test/money/run.test.ts'],
  },
  {
    core: 'new',
    name: 'counts the deadlines of what it sends from its first look',
    kind: 'fencing',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: '    beforeTry?.();\n',
        instead: '',
      },
    ],
    tests: ['test/money/run.test.ts'],
  },
  {
    core: 'new',
    name: 'decides without what it has asked the device for',
    kind: 'journal rules',
    harm: 'stuck',
    edits: [
      {
        room: 'src/money',
        find: 'hasWaited: true, answered } as Event',
        instead: 'hasWaited: true } as Event',
      },
    ],
    tests: ['test/money/run.test.ts'],
  },
];
