// Bugs in the batches that create, read and move invoices: guards, the content of a commit, and what a failed batch means.
import type { PlantedBug } from './planted-bug.ts';

const invoices = 'src/invoices';
const tests = ['test/invoices/batches.test.ts'];
const movedTogether = "    together: (moves) => commit(moves, 'short'),\n";
const insertedTogether = "    together: (invoices) => insertAll(engine, queries, invoices, 'short'),\n";

export const invoiceBatchBugs: readonly PlantedBug[] = [
  {
    name: 'moves an invoice and writes its callback apart',
    kind: 'transactions',
    harm: 'callback',
    edits: [
      {
        room: invoices,
        find: 'await transaction((within) => moveInvoices(engine, within, graceMs, moves, waits));',
        instead: 'await moveInvoices(engine, queries, graceMs, moves, waits);',
      },
    ],
  },
  {
    name: 'pays an invoice that was paid or ended meanwhile',
    kind: 'guards',
    harm: 'lie',
    edits: [{ room: invoices, find: ' and "invoices"."state" = "new"."from_state"\n', instead: '\n' }],
    tests: ['test/invoices/concurrency.test.ts'],
  },
  {
    name: 'moves an invoice whose time has run out since it was looked at',
    kind: 'expiry',
    harm: 'lie',
    edits: [
      {
        room: invoices,
        find: '\n      and ("new"."is_time_up" is null or ${timeIsUp(graceMs)} = ("new"."is_time_up" = 1))`',
        instead: '`',
      },
    ],
    tests: ['test/invoices/concurrency.test.ts'],
  },
  {
    name: 'moves an invoice in a batch although a card payment of it was begun',
    kind: 'guards',
    harm: 'lie',
    edits: [
      {
        room: invoices,
        find: '\n      and ("invoices"."payment_begun_at" is null or "new"."may_have_payments" = 1)',
        instead: '',
      },
    ],
    tests: ['test/invoices/card-payments.test.ts'],
  },
  {
    name: 'begins a card payment of an invoice that has ended',
    kind: 'guards',
    harm: 'double charge',
    edits: [{ room: invoices, find: "if (judge(invoice, 'charge').kind === 'refuse') throw refusal(invoice, 'charge');", instead: '' }],
    tests: ['test/invoices/card-payments.test.ts'],
  },
  {
    name: 'lets an invoice expire that was paid by card',
    kind: 'expiry',
    harm: 'lost money',
    edits: [
      { room: invoices, find: '    .where(mayExpire)\n', instead: '' },
      { room: invoices, find: '(await withoutPayment(queries, overdue)).filter(', instead: 'overdue.filter(' },
    ],
    tests: ['test/invoices/card-payments.test.ts'],
  },
  {
    name: 'sends no callback for an expiry',
    kind: 'expiry',
    harm: 'callback',
    edits: [
      {
        room: invoices,
        find: 'moveOf(deps, invoice, transitionOf({ ...invoice, isTimeUp: true }',
        instead: 'moveOf(deps, { ...invoice, callbackUri: null }, transitionOf({ ...invoice, isTimeUp: true }',
      },
    ],
  },
  {
    name: 'puts two moves of one invoice into one batch',
    kind: 'locks',
    harm: 'lie',
    edits: [
      { room: invoices, find: `    namesOf: ({ oid }) => [oid],\n${movedTogether}`, instead: `    namesOf: () => [],\n${movedTogether}` },
    ],
    tests,
  },
  {
    name: 'answers a scan before its batch is committed',
    kind: 'commit and publish',
    harm: 'lie',
    edits: [
      {
        room: invoices,
        find: movedTogether,
        instead:
          "    async together(moves) {\n      void commit(moves, 'short').catch(() => {});\n      return moves.map(() => true);\n    },\n",
      },
    ],
    tests,
  },
  {
    name: 'takes the lost answer of a batch of moves for a success',
    kind: 'commit and publish',
    harm: 'lost money',
    edits: [
      {
        room: invoices,
        find: movedTogether,
        instead: "    together: (moves) => commit(moves, 'short').catch(() => moves.map(() => true)),\n",
      },
    ],
    tests,
  },
  {
    name: 'gives out the QR of an invoice that its batch did not write',
    kind: 'commit and publish',
    harm: 'lie',
    edits: [
      {
        room: invoices,
        find: insertedTogether,
        instead: "    together: (invoices) => insertAll(engine, queries, invoices, 'short').catch(() => invoices.map(() => true)),\n",
      },
    ],
    tests,
  },
  {
    name: 'writes the history of a batch and forgets its callbacks',
    kind: 'transactions',
    harm: 'callback',
    edits: [
      {
        room: invoices,
        find: '    if (ofMoved.some(({ callback_id }) => callback_id !== null)) await callbacks.execute(queries);\n',
        instead: '    void callbacks;\n',
      },
    ],
    tests,
  },
  {
    name: 'believes what it remembers of a callback when it moves an invoice at once',
    kind: 'guards',
    harm: 'callback',
    edits: [{ room: invoices, find: '      and "invoices"."callback_uri" is not distinct from "new"."believed_uri"\n', instead: '' }],
    tests: ['test/invoices/steps.test.ts'],
  },
  {
    name: 'moves an invoice at once for a merchant whose it is not',
    kind: 'guards',
    harm: 'lie',
    edits: [{ room: invoices, find: 'and ("new"."within" is null or "new"."within" = "invoices"."merchant_id")\n', instead: '\n' }],
    tests: ['test/invoices/steps.test.ts'],
  },
  {
    name: 'takes the lost answer of a Payd for a success',
    kind: 'commit and publish',
    harm: 'lost money',
    edits: [
      {
        room: invoices,
        find: "    together: (steps) => commit(steps, 'short'),\n",
        instead: "    together: (steps) => commit(steps, 'short').catch(() => steps.map(() => ({ found: undefined, isMoved: true }))),\n",
      },
    ],
    tests: ['test/invoices'],
  },
  {
    name: 'takes an invoice that it looked at for moved',
    kind: 'guards',
    harm: 'lie',
    edits: [
      {
        room: invoices,
        find: 'as unknown as FoundRow[], ({ oid }) => moved.has(oid)',
        instead: 'as unknown as FoundRow[], () => moved.size < Infinity',
      },
    ],
    tests: ['test/invoices/steps.test.ts'],
  },
];
