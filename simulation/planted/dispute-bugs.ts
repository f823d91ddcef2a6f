// Bugs in disputes, claims, the record of settlements and the operation catalogue: rules that a simulated day seldom needs, so that
// tests of their own find most of them.
import type { PlantedBug } from './planted-bug.ts';

const ledger = 'src/ledger';
const kernel = 'src/kernel';
const disputes = ['test/ledger/disputes.test.ts'];
const settlements = ['test/ledger/settlements.test.ts'];

export const disputeBugs: readonly PlantedBug[] = [
  {
    name: 'lets an equal request take the place of a disputed one',
    kind: 'joins',
    harm: 'lie',
    edits: [{ room: ledger, find: '  await claimDisputedContent(queries, command);\n', instead: '' }],
    tests: disputes,
  },
  {
    name: 'does not find the newer of two equal requests after the dispute of the first',
    kind: 'joins',
    harm: 'lie',
    edits: [{ room: ledger, find: '  await passContentOn(queries, command);\n', instead: '' }],
    tests: disputes,
  },
  {
    name: 'runs an equal request under another key beside a disputed one',
    kind: 'joins',
    harm: 'double charge',
    edits: [{ room: ledger, find: "    ...(needs.includes('contents') ? [isBesideNoDispute] : []),\n", instead: '' }],
    tests: ['test/ledger/equal-disputes.test.ts'],
  },
  {
    name: 'takes the outcome that a caller has received for what it was disputed into',
    kind: 'joins',
    harm: 'double charge',
    edits: [{ room: ledger, find: '      outcome_received_at: null,\n', instead: '' }],
    tests: ['test/ledger/equal-disputes.test.ts'],
  },
  {
    name: 'forgets a payment that was resolved as executed when the two others give its number back',
    kind: 'guards',
    harm: 'double charge',
    edits: [
      { room: ledger, find: "['disputed', 'done'])\n    .where('id', '!=', id)", instead: "['disputed'])\n    .where('id', '!=', id)" },
    ],
    tests: ['test/ledger/claims.test.ts'],
  },
  {
    name: 'answers by the key of a refused try alone',
    kind: 'joins',
    harm: 'lie',
    edits: [{ room: ledger, find: 'lastIssueOf(database.queries, holder ?? found)', instead: 'lastIssueOf(database.queries, found)' }],
    tests: ['test/ledger/number-since.test.ts'],
  },
  {
    name: 'resolves what is not disputed',
    kind: 'guards',
    harm: 'lie',
    edits: [
      {
        room: ledger,
        find: "    .where('id', '=', disputed.id)\n    .where(disputedOnly)\n",
        instead: "    .where('id', '=', disputed.id)\n",
      },
    ],
    tests: disputes,
  },
  {
    name: 'keeps the number of a payment that is resolved as not executed',
    kind: 'locks',
    harm: 'lie',
    edits: [{ room: ledger, find: '  if (!isDone) await releaseNumbers(queries, command);\n  else await', instead: '  if (isDone) await' }],
    tests: disputes,
  },
  {
    name: 'asks the device on about a decision that it has contradicted',
    kind: 'journal rules',
    harm: 'lie',
    edits: [
      {
        room: ledger,
        find: '  await claimDisputedContent(queries, command);\n  if (found.isFromOwnJournal) await confirmDecision(queries, command);\n',
        instead: '  await claimDisputedContent(queries, command);\n',
      },
    ],
    tests: disputes,
  },
  {
    name: 'makes an operator resolve a CloseDoc that the device has executed after all',
    kind: 'journal rules',
    harm: 'lie',
    edits: [
      {
        room: ledger,
        find: "isDone && !wasDenied && operationOf(settled.name).effect === 'close')",
        instead: "isDone && wasDenied && operationOf(settled.name).effect === 'close')",
      },
    ],
    tests: disputes,
  },
  {
    name: 'disputes a command again for every repeat of the same answer',
    kind: 'guards',
    harm: 'lie',
    edits: [
      {
        room: ledger,
        find: '      if (contradiction === settled.contradiction) {',
        instead: '      if (contradiction === settled.reason) {',
      },
      { room: ledger, find: "    .where(sql<SqlBool>`coalesce(contradiction, '') <> ${found.contradiction}`)\n", instead: '' },
    ],
    tests: disputes,
  },
  {
    name: 'looks for the number of a print among those of payments',
    kind: 'joins',
    harm: 'lie',
    edits: [
      {
        room: ledger,
        find: "const kind = operationOf(command.name).isPayment ? 'document' : 'receipt';",
        instead: "const kind = 'document' as const;",
      },
    ],
    tests: disputes,
  },
  {
    name: 'leaves the settlement of a resolved dispute where it was',
    kind: 'sums',
    harm: 'lie',
    edits: [{ room: ledger, find: '  await recordSettlement(queries, command, disputed);\n', instead: '' }],
    tests: settlements,
  },
  {
    name: 'does not sum an hour again after a void',
    kind: 'sums',
    harm: 'lie',
    edits: [{ room: ledger, find: "operationOf(name).effect === 'void' ? 1 : 0", instead: '0' }],
    tests: settlements,
  },
  {
    name: 'keeps the settlement of a removed command',
    kind: 'sums',
    harm: 'lie',
    edits: [{ room: 'src/removal', find: '    await forgetSettlement(queries, command);\n', instead: '' }],
    tests: settlements,
  },
  {
    name: 'gives a register as long as a person with a card',
    kind: 'expiry',
    harm: 'lie',
    edits: [{ room: kernel, find: 'const byRegisterMs = 20_000;', instead: 'const byRegisterMs = withCardMs;' }],
    tests: ['test/fiscal'],
  },
  {
    name: 'counts cash that is taken out as put in',
    kind: 'sums',
    harm: 'lie',
    edits: [{ room: kernel, find: "byRegisterMs, cash: 'out'", instead: "byRegisterMs, cash: 'in'" }],
    tests: ['test/cabinet/views/day-close.test.ts'],
  },
  {
    name: 'does not know that a bank-day close closes the day',
    kind: 'joins',
    harm: 'lie',
    edits: [{ room: kernel, find: 'answerWithinMs: byBankMs, closesDay: true }', instead: 'answerWithinMs: byBankMs }' }],
    tests: ['test/cards', 'test/cabinet/views/day-close.test.ts'],
  },
];
