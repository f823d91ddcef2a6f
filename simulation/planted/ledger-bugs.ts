// Bugs in the ledger and the link: when to commit, which reports to accept, which command to join, when not to send.
import type { PlantedBug } from './planted-bug.ts';

const ledger = 'src/ledger';
const link = 'src/link';

export const ledgerBugs: readonly PlantedBug[] = [
  {
    name: 'publishes before the commit',
    kind: 'commit and publish',
    harm: 'double charge',
    edits: [
      {
        room: ledger,
        find: '      const command = await firstCommits.begin(request, id)',
        instead:
          '      void link.carry({ ...request, id, deadlines, journalId: request.journalId, onAccepted: () => {}, onStep: () => {} });\n      const command = await firstCommits.begin(request, id)',
      },
    ],
  },
  {
    name: 'sends although the commit failed',
    kind: 'commit and publish',
    harm: 'lost money',
    edits: [
      {
        room: ledger,
        find: '.catch((error: unknown) => this.#unclear(id, error))',
        instead: '.catch(() => ({ ...request, id, state: "sent", journalId: request.journalId ?? null }) as never)',
      },
    ],
  },
  {
    name: 'treats a time-out as not done',
    kind: 'commit and publish',
    harm: 'double charge',
    edits: [
      {
        room: ledger,
        find: '      return settlements.becomeUnknown(command, 0);\n    };',
        instead: "      return settlements.neverSent(command, 'No answer.');\n    };",
      },
    ],
  },
  {
    name: 'sends again under a new id after a time-out',
    kind: 'commit and publish',
    harm: 'double charge',
    edits: [
      {
        room: ledger,
        find: "if (result.kind === 'ended' && this.#mayGoOutAgain(command, result, deadlines)) {",
        instead: "if (result.kind !== 'ended' || this.#mayGoOutAgain(command, result, deadlines)) {",
      },
    ],
  },
  {
    name: 'settles what is settled',
    kind: 'guards',
    harm: 'lie',
    edits: [{ room: ledger, find: ` and "commands"."state" in ('sent', 'unknown')\n`, instead: '\n' }],
  },
  {
    name: 'makes unknown what is settled',
    kind: 'guards',
    harm: 'stuck',
    edits: [
      {
        room: ledger,
        find: "    .where('id', '=', id)\n    .where('state', '=', sql.lit('sent'))\n",
        instead: "    .where('id', '=', id)\n",
      },
    ],
    tests: ['test/ledger'],
  },
  {
    name: 'lets a person decide while the terminal may still charge',
    kind: 'guards',
    harm: 'double charge',
    edits: [
      {
        room: ledger,
        find: 'export const personDecidesAfterMs = 2 * 60_000;',
        instead: 'export const personDecidesAfterMs = -10 * 60_000;',
      },
    ],
  },
  {
    name: 'believes that an accepted command never began',
    kind: 'journal rules',
    harm: 'double charge',
    edits: [
      {
        room: ledger,
        find: "      if (finding.wasAccepted) return { kind: 'review'",
        instead: "      if (finding.wasAccepted && false) return { kind: 'review'",
      },
      { room: ledger, find: `      and ("new"."state" <> 'never' or "commands"."accepted_at" is null)\n`, instead: '' },
    ],
    tests: ['test/ledger/settlement.test.ts'],
  },
  {
    name: 'believes every never, from whatever journal',
    kind: 'journal rules',
    harm: 'double charge',
    edits: [{ room: ledger, find: '  return finding.journalId === command.journalId;\n}', instead: '  return true;\n}' }],
    tests: ['test/ledger/settlement.test.ts'],
  },
  {
    name: 'believes the never of a device that keeps no journal',
    kind: 'journal rules',
    harm: 'double charge',
    edits: [
      {
        room: ledger,
        find: "if (command.journalId === null) return finding.outcome !== 'never';",
        instead: 'if (command.journalId === null) return true;',
      },
    ],
    tests: ['test/ledger/settlement.test.ts'],
  },
  {
    name: 'takes the last transaction of another command for this one',
    kind: 'journal rules',
    harm: 'lie',
    edits: [{ room: ledger, find: ' || sameNumber(commandId) !== command.id', instead: '' }],
  },
  {
    name: 'never asks the device again',
    kind: 'journal rules',
    harm: 'stuck',
    edits: [
      { room: ledger, find: '() => this.#askDue(), ', instead: '' },
      { room: ledger, find: '    this.#askAll(open, true);\n', instead: '' },
    ],
  },
  {
    name: 'ignores late answers',
    kind: 'journal rules',
    harm: 'stuck',
    edits: [
      {
        room: ledger,
        find: "    if (answer.outcome !== 'accepted') await settlements.apply(command, findingOfAnswer(answer), 'late-answer');",
        instead: "    if (answer.outcome !== 'accepted') return;",
      },
    ],
    tests: ['test/ledger'],
  },
  {
    name: 'leaves the commands of a dead gateway alone',
    kind: 'leases',
    harm: 'stuck',
    edits: [{ room: 'src/database', find: 'export const deadAfterMs = 15_000;', instead: 'export const deadAfterMs = 15_000_000_000;' }],
  },
  {
    name: 'takes the lock of a device that another command has',
    kind: 'locks',
    harm: 'double charge',
    edits: [
      {
        room: ledger,
        find: 'if (holder && (request.beside === undefined || holder.id !== request.targetId)) throw busyWith(holder);',
        instead: '',
      },
      { room: ledger, find: '    sql`"lock"."command_id" is null`,\n', instead: '' },
    ],
  },
  {
    name: 'refuses to close a document, because it locks the terminal',
    kind: 'locks',
    harm: 'stuck',
    edits: [
      { room: ledger, find: `coalesce("lock"."document_id", '') = "given"."target_id"`, instead: '1 = 0' },
      { room: ledger, find: '"paid"."id" = "lock"."document_id"', instead: '1 = 0' },
    ],
  },
  {
    name: 'takes no documentNr',
    kind: 'joins',
    harm: 'double charge',
    edits: [{ room: 'src/cards', find: '        claims: { document: documentNr },\n', instead: '' }],
  },
  {
    name: 'joins no earlier payment',
    kind: 'joins',
    harm: 'stuck',
    edits: [{ room: 'src/cards', find: '  if (!holder) return undefined;\n', instead: '  if (holder || !holder) return undefined;\n' }],
  },
  {
    name: 'answers a repeat by the issue that expired',
    kind: 'joins',
    harm: 'lie',
    edits: [
      {
        room: ledger,
        find: "    if (again.id !== latest.id) return answerOfEarlier({ command: again, by: by === 'key' ? 'number' : by }, request);\n",
        instead: '',
      },
    ],
    tests: ['test/ledger'],
  },
  {
    name: 'does not know a Pay without documentNr by its content',
    kind: 'joins',
    harm: 'double charge',
    edits: [{ room: 'src/cards', find: 'isKnownByContent: documentNr === undefined,', instead: 'isKnownByContent: false,' }],
  },
  {
    name: 'takes an undelivered answer for delivered',
    kind: 'joins',
    harm: 'double charge',
    edits: [{ room: ledger, find: "add(command, isReceived ? 'received' : 'left')", instead: "add(command, 'received')" }],
  },
  {
    name: 'begins what nothing names for a caller who is gone',
    kind: 'joins',
    harm: 'double charge',
    edits: [{ room: ledger, find: 'if (recipient?.hasLeft()) throw', instead: 'if (false) throw' }],
    tests: ['test/ledger/first-commit.test.ts'],
  },
  {
    name: 'sends a command whose caller has left while it was committed',
    kind: 'joins',
    harm: 'double charge',
    edits: [{ room: ledger, find: 'result = hasLeft(request) ?? (await', instead: 'result = undefined ?? (await' }],
    tests: ['test/ledger/fence.test.ts'],
  },
  {
    name: 'begins what has a number or key for a caller who is gone',
    kind: 'joins',
    harm: 'lie',
    edits: [
      {
        room: ledger,
        find: 'function refuseIfGone({ recipient }: CommandRequest): void {\n  if (recipient?.hasLeft())',
        instead:
          'function refuseIfGone({ requestHash, idempotency, recipient }: CommandRequest): void {\n  if (requestHash !== undefined && !idempotency && recipient?.hasLeft())',
      },
    ],
    tests: ['test/ledger/first-commit.test.ts'],
  },
  {
    name: 'knows a request by its content for ten seconds only',
    kind: 'joins',
    harm: 'double charge',
    edits: [{ room: ledger, find: 'const recognisedForMs = 10 * 60_000;', instead: 'const recognisedForMs = 10_000;' }],
  },
  {
    name: 'does not look under an Idempotency-Key',
    kind: 'keys',
    harm: 'stuck',
    edits: [{ room: ledger, find: 'const keyed = await findByKey(call);', instead: 'const keyed = undefined as Command | undefined;' }],
  },
  {
    name: 'writes no Idempotency-Key with the command',
    kind: 'keys',
    harm: 'double charge',
    edits: [{ room: ledger, find: '      if (!idempotency) return command;\n', instead: '      return command;\n' }],
    tests: ['test/ledger/first-commit.test.ts'],
  },
  {
    name: 'leaves the key with the issue that expired',
    kind: 'keys',
    harm: 'double charge',
    edits: [
      {
        room: ledger,
        find: '        if (idempotency) await moveKey(queries, request.merchantId, idempotency.key, expired.id, id);\n',
        instead: '',
      },
    ],
    tests: ['test/ledger'],
  },
  {
    name: 'sends what is too late, with a fresh time to begin',
    kind: 'fencing',
    harm: 'double charge',
    edits: [
      { room: link, find: '    if (isStartOver(clock, deadlines)) return false;\n', instead: '' },
      { room: link, find: '      nowMs: deadlines.issuedAtMs,\n', instead: '      nowMs: deps.clock.now(),\n' },
    ],
  },
  {
    name: 'sends a second copy to a device without a journal',
    kind: 'fencing',
    harm: 'double charge',
    edits: [
      {
        room: link,
        find: '    if (!isCertain && (journalId === undefined || book.journalOf(deviceId, undefined) !== journalId)) return false;\n',
        instead: '',
      },
    ],
  },
  {
    name: 'writes startBy in its own clock',
    kind: 'fencing',
    harm: 'stuck',
    edits: [{ room: link, find: '      clockOffsetMs: deadlines.clockOffsetMs,\n', instead: '      clockOffsetMs: 0,\n' }],
  },
  {
    name: 'tries again what a person called refused, without asking the device first',
    kind: 'journal rules',
    harm: 'double charge',
    edits: [
      { room: ledger, find: 'confirmedUntilMs: await confirmation.confirmWithDevice(request)', instead: 'confirmedUntilMs: undefined' },
      { room: ledger, find: '    sql`coalesce("lock"."decided_at", 0) <= "given"."confirmed_until"`,\n', instead: '' },
    ],
  },
  {
    name: 'leaves the number of a disputed command free',
    kind: 'guards',
    harm: 'double charge',
    edits: [
      {
        room: ledger,
        find: '  await endDocument(queries, command);\n  await reclaimNumbers(queries, command);\n',
        instead: '  await endDocument(queries, command);\n',
      },
    ],
    tests: ['test/ledger/wrong-decisions.test.ts'],
  },
  {
    name: 'gives the number of a disputed command to the next one when another gives it back',
    kind: 'guards',
    harm: 'double charge',
    edits: [
      {
        room: ledger,
        find: '.doUpdateSet({ next_id: sql<string>`coalesce(claims.next_id, excluded.command_id)` })',
        instead: '.doUpdateSet({ next_id: null })',
      },
    ],
    tests: ['test/ledger/disputes.test.ts'],
  },
  {
    name: 'keeps the number of what was refused',
    kind: 'locks',
    harm: 'lie',
    edits: [
      { room: ledger, find: '    release: rows.some(givesBack),\n', instead: '    release: false,\n' },
      { room: ledger, find: '  if (!wasNotDone(holder)) return holder;', instead: '  return holder;' },
    ],
    // Tills of the simulation use a new number after a refusal.
    tests: ['test/cards/pay.test.ts'],
  },
  {
    name: 'gives back the number of what was done',
    kind: 'guards',
    harm: 'double charge',
    edits: [
      { room: ledger, find: "  return state !== 'done' && document !== null", instead: '  return document !== null' },
      {
        room: ledger,
        find: `'document', "new"."document", "new"."id" from \${rows} where "new"."state" <> 'done'`,
        instead: `'document', "new"."document", "new"."id" from \${rows}`,
      },
    ],
  },
  {
    name: 'does not free the device with a settlement',
    kind: 'locks',
    harm: 'stuck',
    edits: [
      {
        room: ledger,
        find: 'update "device_locks" set "command_id" = null,',
        instead: 'update "device_locks" set "command_id" = "command_id",',
      },
    ],
  },
  {
    name: 'opens the document of a resolved payment on a terminal that has gone on',
    kind: 'locks',
    harm: 'lie',
    edits: [{ room: ledger, find: ' || (await hasGoneOn(queries, lock, payment)) ?', instead: ' ?' }],
    tests: ['test/ledger/disputes.test.ts'],
  },
  {
    name: 'leaves the terminal locked by the document of a disputed payment',
    kind: 'locks',
    harm: 'stuck',
    edits: [{ room: ledger, find: '  await endDocument(queries, command);\n', instead: '' }],
    tests: ['test/ledger'],
  },
  {
    name: 'does not keep the number of a removed attempt',
    kind: 'guards',
    harm: 'lie',
    edits: [{ room: 'src/removal', find: 'await reclaimNumbers(queries, command);', instead: 'void reclaimNumbers;' }],
    tests: ['test/removal'],
  },
];
