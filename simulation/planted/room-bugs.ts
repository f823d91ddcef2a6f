// Bugs in the rooms above the ledger: cards, registers, invoices and callbacks.
import type { PlantedBug } from './planted-bug.ts';

const cards = 'src/cards';
const fiscal = 'src/fiscal';
const invoices = 'src/invoices';
const callbacks = 'src/callbacks';

export const roomBugs: readonly PlantedBug[] = [
  {
    name: 'lets an approved payment lock no terminal',
    kind: 'locks',
    harm: 'lost money',
    edits: [
      { room: 'src/ledger', find: 'when "new"."opens_document" = 1 then "new"."id"', instead: 'when "new"."opens_document" = 1 then null' },
    ],
  },
  {
    name: 'does not free the terminal with CloseDoc',
    kind: 'locks',
    harm: 'stuck',
    edits: [
      {
        room: 'src/kernel',
        find: "answerWithinMs: byBankMs, effect: 'close' }",
        instead: 'answerWithinMs: byBankMs }',
      },
    ],
  },
  {
    name: 'takes a void for a close of the document',
    kind: 'guards',
    harm: 'lie',
    edits: [
      {
        room: 'src/kernel',
        find: "answerWithinMs: byBankMs, effect: 'void' }",
        instead: "answerWithinMs: byBankMs, effect: 'close' }",
      },
    ],
    tests: ['test/ledger/standing.test.ts'],
  },
  {
    name: 'does not count refunds',
    kind: 'sums',
    harm: 'lost money',
    edits: [
      {
        room: 'src/kernel',
        find: "answerWithinMs: byBankMs, effect: 'refund' }",
        instead: 'answerWithinMs: byBankMs }',
      },
    ],
    tests: ['test/cards'],
  },
  {
    name: 'lets a till and a register charge under one number',
    kind: 'joins',
    harm: 'double charge',
    edits: [{ room: fiscal, find: 'document: isPaidUnderUid ? undefined : charged', instead: 'document: undefined' }],
    tests: ['test/fiscal'],
  },
  {
    name: 'counts no earlier refunds',
    kind: 'sums',
    harm: 'lost money',
    edits: [
      {
        room: cards,
        find: 'const leftBani = (payment.amountBani ?? 0) - committedRefundsOf(followers);',
        instead: 'const leftBani = payment.amountBani ?? 0;',
      },
    ],
  },
  {
    name: 'voids what was refunded',
    kind: 'sums',
    harm: 'lost money',
    edits: [{ room: cards, find: '  if (mayBeRefunded(followers)) throw', instead: '  if (followers.length > 1e12) throw' }],
  },
  {
    name: 'refunds after the bank day was closed',
    kind: 'sums',
    harm: 'lost money',
    edits: [{ room: cards, find: '  if (payment.bankDayClosedAtMs !== null)\n', instead: '  if (payment.bankDayClosedAtMs === 0)\n' }],
    tests: ['test/cards'],
  },
  {
    name: 'does not know a refund by its content',
    kind: 'joins',
    harm: 'lost money',
    edits: [
      {
        room: cards,
        find: '    isKnownByContent: true,\n    async plan({ id: deviceId }) {\n      const documentNr = sameNumber(request.documentNr);',
        instead:
          '    isKnownByContent: false,\n    async plan({ id: deviceId }) {\n      const documentNr = sameNumber(request.documentNr);',
      },
    ],
    tests: ['test/ledger/repeats-by-content.test.ts'],
  },
  {
    name: 'writes no void on the payment',
    kind: 'transactions',
    harm: 'lie',
    edits: [
      {
        room: cards,
        find: 'command.targetId === null ? undefined : await voidDocument(queries, command.targetId, command.id)',
        instead: 'undefined as Command | undefined',
      },
    ],
  },
  {
    name: 'tells of an earlier try that it was stopped while the next one goes on',
    kind: 'aborts',
    harm: 'lie',
    edits: [
      {
        room: 'src/cards',
        find: 'if (holder?.deviceId !== payment.deviceId) return undefined;',
        instead: 'if (holder !== payment) return undefined;',
      },
    ],
    tests: ['test/cards/abort.test.ts'],
  },
  {
    name: 'says that an abort worked when it came too late',
    kind: 'aborts',
    harm: 'lie',
    edits: [
      {
        room: cards,
        find: "if (!ended || ended.state === 'done' || ended.abortRequestedAtMs === null) throw tooLate(answered);",
        instead: 'if (!ended) return answered;',
      },
    ],
    tests: ['test/cards/cancel.test.ts'],
  },
  {
    name: 'keeps the invoice of an aborted payment',
    kind: 'aborts',
    harm: 'lie',
    edits: [{ room: cards, find: 'onState: { refused: cancelIfEnded, never: cancelIfEnded },', instead: '' }],
    tests: ['test/cards/abort.test.ts'],
  },
  {
    name: 'writes what follows a settlement outside its transaction',
    kind: 'transactions',
    harm: 'callback',
    edits: [
      {
        room: 'src/ledger',
        find: '    return database.transaction(async (queries) => {\n      if (onState || onResolved)',
        instead:
          '    if (!alongside) {\n      const alone = await update(database.queries);\n      if (alone) await onState?.(database.queries, alone);\n      return alone;\n    }\n    return database.transaction(async (queries) => {\n      if (onState || onResolved)',
      },
    ],
  },
  {
    name: 'does not know a receipt without Uid by its content',
    kind: 'joins',
    harm: 'double charge',
    edits: [{ room: fiscal, find: 'isKnownByContent: receiptUid === undefined,', instead: 'isKnownByContent: false,' }],
  },
  {
    name: 'does not know cash in and out by their content',
    kind: 'joins',
    harm: 'lost money',
    edits: [{ room: fiscal, find: '    isKnownByContent: true,\n', instead: '    isKnownByContent: false,\n' }],
  },
  {
    name: 'takes no Receipt.Uid',
    kind: 'joins',
    harm: 'double charge',
    edits: [{ room: fiscal, find: 'claims: { receipt: receiptUid, ', instead: 'claims: { ' }],
  },
  {
    name: 'lets "Unknown" be the last word',
    kind: 'order of callbacks',
    harm: 'callback',
    edits: [
      {
        room: fiscal,
        find: 'onState: { unknown: write, done: write, refused: write, never: write, disputed: write },',
        instead: 'onState: { unknown: write },',
      },
    ],
  },
  {
    name: 'refuses the repeat of the same payment',
    kind: 'guards',
    harm: 'lie',
    edits: [
      { room: invoices, find: "  { from: states.paid, trigger: 'pay', condition: 'same-payment', to: states.paid },\n", instead: '' },
    ],
  },
  {
    name: 'forgets a payment that came too late',
    kind: 'expiry',
    harm: 'lost money',
    edits: [{ room: invoices, find: '        await writeOrphan(deps, invoice, payment, reasonOf(invoice.state), asker);\n', instead: '' }],
  },
  {
    name: 'lets no invoice expire by itself',
    kind: 'expiry',
    harm: 'stuck',
    edits: [{ room: invoices, find: '      sweep.start();\n', instead: '' }],
  },
  {
    name: 'makes another invoice for every repeat under a key',
    kind: 'keys',
    harm: 'lie',
    edits: [
      {
        room: invoices,
        find: "      if (claim.kind === 'same') return await look",
        instead: "      if (claim.kind === 'same' && claim.subjectId === oid) return await look",
      },
    ],
  },
  {
    name: 'sends the callbacks of a subject in any order',
    kind: 'order of callbacks',
    harm: 'callback',
    edits: [
      {
        room: callbacks,
        find: "                  .whereRef('older.sequence', '<', 'c.sequence')\n",
        instead: "                  .whereRef('older.sequence', '<', 'older.sequence')\n",
      },
    ],
  },
  {
    name: 'takes every answer of an ERP for a success',
    kind: 'order of callbacks',
    harm: 'callback',
    edits: [
      {
        room: callbacks,
        find: 'if (result.status !== null && result.status >= 200 && result.status <= 299)',
        instead: 'if (result.status !== null)',
      },
    ],
  },
  {
    name: 'gives a callback up after its first failure',
    kind: 'order of callbacks',
    harm: 'callback',
    edits: [
      {
        room: callbacks,
        find: "return delayS === undefined ? { kind: 'dead' }",
        instead: "return delayS !== undefined ? { kind: 'dead' }",
      },
    ],
  },
  {
    name: 'keeps the lease of a dead gateway for ever',
    kind: 'leases',
    harm: 'callback',
    edits: [
      {
        room: callbacks,
        find: 'leased_until: leaseEnd, next_attempt_at: leaseEnd })',
        instead: 'leased_until: leaseEnd, next_attempt_at: sql<number>`now_ms() + 864000000` })',
      },
      { room: callbacks, find: "    .where('leased_by', 'in', dead)\n", instead: "    .where('leased_by', 'in', [])\n" },
    ],
  },
  {
    name: 'forgets that a card is being charged for an invoice that a register reports as paid',
    kind: 'joins',
    harm: 'lie',
    edits: [
      {
        room: invoices,
        find: 'if (isWritten) await alongside?.(queries);',
        instead: '',
      },
    ],
    tests: ['test/cabinet/views/applied-orphans.test.ts'],
  },
];
