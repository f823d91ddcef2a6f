// Bugs in group commits: which rows share one, what a failed one means, and when its callers are answered. In the simulation's virtual time
// a statement takes no time, so few calls ever meet in a batch: the tests that make them meet find most of these.
import type { PlantedBug } from './planted-bug.ts';

const ledger = 'src/ledger';
const group = 'src/database';
const asIfInserted = "{ ...new_, state: 'sent', args: new_.args, journalId: new_.journalId ?? null, documentState: null } as never";

export const batchBugs: readonly PlantedBug[] = [
  {
    name: 'puts two rows of one device into one batch',
    kind: 'locks',
    harm: 'lie',
    edits: [{ room: group, find: '      if (queue === undefined) continue;\n', instead: '      if (queue !== null) continue;\n' }],
    tests: ['test/database/group.test.ts'],
  },
  {
    name: 'publishes what its batch has not committed yet',
    kind: 'commit and publish',
    harm: 'double charge',
    edits: [
      {
        room: ledger,
        find: '    together: (commands) => insertTogether(database, commands),\n',
        instead: `    async together(commands) {\n      void insertTogether(database, commands).catch(() => {});\n      return commands.map((new_) => (${asIfInserted}));\n    },\n`,
      },
    ],
    tests: ['test/ledger/batches.test.ts'],
  },
  {
    name: 'takes a lost answer of a batch for a success',
    kind: 'commit and publish',
    harm: 'lost money',
    edits: [
      {
        room: ledger,
        find: '    together: (commands) => insertTogether(database, commands),\n',
        instead: `    together: (commands) =>\n      insertTogether(database, commands).catch(() => commands.map((new_) => (${asIfInserted}))),\n`,
      },
    ],
    tests: ['test/ledger/batches.test.ts'],
  },
  {
    // The others of the batch get a failure, and nothing was done; a repeat succeeds.
    name: 'lets one bad row fail its whole batch',
    kind: 'transactions',
    harm: 'lie',
    edits: [{ room: group, find: 'if (isCertainlyUndone(error)) for', instead: 'if (error === undefined) for' }],
    tests: ['test/database/group.test.ts', 'test/ledger/batches.test.ts'],
  },
  {
    name: 'tries a batch again whose commit is unclear',
    kind: 'transactions',
    harm: 'lie',
    edits: [{ room: group, find: 'if (isCertainlyUndone(error)) for', instead: 'if (error !== undefined) for' }],
    tests: ['test/database/group.test.ts'],
  },
  {
    name: 'closes the document of a CloseDoc that another had settled',
    kind: 'guards',
    harm: 'lie',
    edits: [
      {
        room: ledger,
        find: `and "held"."command_id" = "new"."id"\n      join "commands" as "settled" on "settled"."id" = "new"."id" and "settled"."state" = "new"."state"`,
        instead: '',
      },
    ],
    tests: ['test/ledger/batches.test.ts'],
  },
  {
    // A repeat by the key alone (cash in, a receipt without Uid) is executed twice.
    name: 'commits a batch without the Idempotency-Keys of its commands',
    kind: 'keys',
    harm: 'double charge',
    edits: [
      {
        room: ledger,
        find: 'keys: commands.some(({ idempotency }) => idempotency !== undefined),',
        instead: 'keys: commands.some(({ idempotency }) => idempotency === null),',
      },
    ],
    tests: ['test/ledger/batched-keys.test.ts'],
  },
  {
    name: 'commits a command of a batch whose Idempotency-Key stands for another one',
    kind: 'keys',
    harm: 'double charge',
    edits: [
      { room: ledger, find: '("given"."takes_key" is null or ', instead: '("given"."takes_key" is null or 1 = 1 or ' },
      {
        room: 'src/access',
        find: '    order by "merchant_id", "key"`',
        instead: '    order by "merchant_id", "key" on conflict do nothing`',
      },
    ],
    tests: ['test/ledger/batched-keys.test.ts'],
  },
];
