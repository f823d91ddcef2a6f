// Bugs about commands that an operator settled as done and the device denies [D143]: a resolution as not executed must undo all effects.
import type { PlantedBug } from './planted-bug.ts';

const resolved = ['test/ledger/resolved-disputes.test.ts'];

export const wrongDoneBugs: readonly PlantedBug[] = [
  {
    name: 'believes the operator who called it done, and not the device that denies it',
    kind: 'journal rules',
    harm: 'lost money',
    edits: [
      {
        room: 'src/ledger',
        find: "  return outcome === 'done' ? 'flag' : 'dispute';\n",
        instead: "  return outcome === 'done' ? 'flag' : 'agrees';\n",
      },
    ],
  },
  {
    name: 'leaves the document closed whose CloseDoc turns out not to have been made',
    kind: 'locks',
    harm: 'lie',
    edits: [{ room: 'src/cards', find: "      onReversed: async (queries, close) => revive(queries, close, 'closed'),\n", instead: '' }],
    tests: resolved,
  },
  {
    name: 'leaves the payment voided whose void turns out not to have been made',
    kind: 'sums',
    harm: 'lost money',
    edits: [{ room: 'src/cards', find: "[await revive(queries, taking, 'voided'), await", instead: '[await' }],
    tests: resolved,
  },
  {
    name: 'leaves the refund total as it was when a refund turns out not to have been made',
    kind: 'sums',
    harm: 'lie',
    edits: [{ room: 'src/ledger', find: "  return state !== 'refused' && state !== 'never';\n", instead: "  return state !== 'never';\n" }],
    tests: ['test/ledger/standing.test.ts'],
  },
  {
    name: 'opens the document again of a payment that was closed while it was disputed',
    kind: 'locks',
    harm: 'lie',
    edits: [{ room: 'src/ledger', find: 'endings.length > 0 || ', instead: '' }],
    tests: resolved,
  },
  {
    name: 'takes a document whose CloseDoc is disputed for closed by hand',
    kind: 'journal rules',
    harm: 'lie',
    edits: [
      { room: 'src/cards', find: '    .where(sql<SqlBool>`(${openOrDone} or ${disputedOnly})`)\n', instead: '    .where(openOrDone)\n' },
    ],
    tests: resolved,
  },
];
