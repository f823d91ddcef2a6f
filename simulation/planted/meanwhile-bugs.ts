// Race conditions: a row that changes between the lookup and the lock, two requests on one row, a caller that disconnects while
// a command is issued again, clocks that diverge, sales that are not commands. Most need two events at one moment, which tests arrange.
import type { PlantedBug } from './planted-bug.ts';

const ledger = 'src/ledger';
const cards = 'src/cards';
const link = 'src/link';
const fiscal = 'src/fiscal';

export const meanwhileBugs: readonly PlantedBug[] = [
  {
    name: 'fixes the deadline of a reissued command after its commit',
    kind: 'fencing',
    harm: 'lie',
    edits: [
      {
        room: ledger,
        find: '        const nextDeadlines = link.deadlines(request.deviceId, request.answerWithinMs);\n        const again = await this.#issueAgain(command, request, result);\n',
        instead:
          '        const again = await this.#issueAgain(command, request, result);\n        const nextDeadlines = link.deadlines(request.deviceId, request.answerWithinMs);\n',
      },
    ],
    tests: ['test/ledger/issued-again.test.ts'],
  },
  {
    name: 'records on the first issue that the caller of the second has left',
    kind: 'joins',
    harm: 'lie',
    edits: [
      {
        room: ledger,
        find: 'onLeft(() => outcomeDelivery.callerLeft(command))',
        instead: 'onLeft(() => outcomeDelivery.callerLeft(first))',
      },
    ],
    tests: ['test/ledger/issued-again.test.ts'],
  },
  {
    name: 'judges a refund by the payment as it was before the lock',
    kind: 'locks',
    harm: 'lie',
    edits: [{ room: cards, find: 'checkRefund(locked, ', instead: 'checkRefund(payment, ' }],
    tests: ['test/cards/meanwhile.test.ts'],
  },
  {
    name: 'judges a void by the payment as it was before the lock',
    kind: 'locks',
    harm: 'lie',
    edits: [{ room: cards, find: 'checkVoid(locked, ', instead: 'checkVoid(payment, ' }],
    tests: ['test/cards/meanwhile.test.ts'],
  },
  {
    name: 'forgets the caller of another abort with its own',
    kind: 'aborts',
    harm: 'lie',
    edits: [
      {
        room: cards,
        find: ".where('id', '=', id).where('abort_hash', '=', abortHash).execute();",
        instead: ".where('id', '=', id).execute();",
      },
    ],
    tests: ['test/cards/guards.test.ts'],
  },
  {
    name: 'marks a payment as aborted before the key of the abort is checked',
    kind: 'aborts',
    harm: 'lie',
    edits: [
      {
        room: cards,
        find: '  await ledger.keepKey(request, payment.id);\n  if (!(await markAbortRequested(database.queries, payment.id, abortId, abortHash))) {\n',
        instead:
          '  const isMarked = await markAbortRequested(database.queries, payment.id, abortId, abortHash);\n  await ledger.keepKey(request, payment.id);\n  if (!isMarked) {\n',
      },
    ],
    tests: ['test/cards/meanwhile.test.ts'],
  },
  {
    name: 'loses the CallbackURI of reports',
    kind: 'order of callbacks',
    harm: 'callback',
    edits: [
      {
        room: fiscal,
        find: '      args: { fiscal: isFiscal },\n      callbackUri: callbackOf(request),\n',
        instead: '      args: { fiscal: isFiscal },\n',
      },
    ],
    tests: ['test/fiscal/fiscal.test.ts'],
  },
  {
    name: 'judges by the wall clock whether a device is live',
    kind: 'fencing',
    harm: 'lie',
    edits: [
      { room: link, find: 'this.#clock.elapsed() - receivedAt <= liveForMs', instead: 'this.#clock.now() - receivedAt <= liveForMs' },
      {
        room: link,
        find: 'this.#receivedAt.set(channel, this.#clock.elapsed());',
        instead: 'this.#receivedAt.set(channel, this.#clock.now());',
      },
    ],
    tests: ['test/link/memory.test.ts'],
  },
  {
    name: 'measures the clocks of devices by its wall clock',
    kind: 'fencing',
    harm: 'lie',
    edits: [
      { room: link, find: 'aheadMs + this.#clock.elapsed() - this.#clock.now();', instead: 'aheadMs;' },
      {
        room: link,
        find: 'this.#offset.add(Date.parse(deviceClock) - this.#clock.elapsed())',
        instead: 'this.#offset.add(Date.parse(deviceClock) - this.#clock.now())',
      },
    ],
    tests: ['test/link/memory.test.ts'],
  },
  {
    name: 'takes its own clock for that of a device of which it has only an old answer',
    kind: 'fencing',
    harm: 'lie',
    edits: [{ room: link, find: 'isPrompt || this.#offset.read() === undefined;', instead: 'isPrompt;' }],
    tests: ['test/link/memory.test.ts'],
  },
  {
    name: 'answers a close by the one before, although a QR was paid since',
    kind: 'joins',
    harm: 'lie',
    edits: [{ room: ledger, find: ' || (await paidByQrSince(queries, close)).length > 0;', instead: ';' }],
    tests: ['test/ledger/closes-after-sales.test.ts'],
  },
  {
    name: 'asks no device about a decision unless it comes back',
    kind: 'journal rules',
    harm: 'lie',
    edits: [{ room: ledger, find: ', () => this.#askDueDecisions()]', instead: ']' }],
    tests: ['test/ledger/sweeps.test.ts'],
  },
  {
    name: 'asks about a decision that another gateway has just asked about',
    kind: 'leases',
    harm: 'lie',
    edits: [
      {
        room: ledger,
        find: '    .where(isUnconfirmed)\n    .where(isDue)\n    .returning',
        instead: '    .where(isUnconfirmed)\n    .returning',
      },
    ],
    tests: ['test/ledger/store.test.ts'],
  },
];
