// Bugs in what the new core notes late, waits for and answers.
import type { PlantedBug } from './planted-bug.ts';

export const coreCallBugs: readonly PlantedBug[] = [
  {
    core: 'new',
    name: 'drops an acceptance when its command is settled as never',
    kind: 'journal rules',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: "if (ran.case.ops[id]?.state !== 'never') notes.ended(id);",
        instead: 'notes.ended(id);',
      },
    ],
    tests: ['test/money/sending.test.ts'],
  },
  {
    core: 'new',
    name: 'drops notes that the database refuses',
    kind: 'joins',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: "    await commit(event);\n    if (event.type === 'Accepted')",
        instead:
          "    if (event.type === 'Delivery') deliveries.delete(event.id);\n    await commit(event);\n    if (event.type === 'Accepted')",
      },
    ],
    tests: ['test/money/late-notes.test.ts'],
  },
  {
    core: 'new',
    name: 'drops a note that came while the one before it was written',
    kind: 'joins',
    harm: 'lost money',
    edits: [
      {
        room: 'src/money',
        find: "if (event.type === 'Delivery' && deliveries.get(event.id) === event.was) deliveries.delete(event.id);",
        instead: "if (event.type === 'Delivery') deliveries.delete(event.id);",
      },
    ],
    tests: ['test/money/late-notes.test.ts'],
  },
  {
    core: 'new',
    name: 'writes no note again after a failure',
    kind: 'joins',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: 'if (acceptances.size + deliveries.size > 0) later(failures > 0 ? growingPauseMs(failures, pauses) : gatherMs);',
        instead: 'if (acceptances.size + deliveries.size > 0 && failures === 0) later(gatherMs);',
      },
    ],
    tests: ['test/money/late-notes.test.ts'],
  },
  {
    core: 'new',
    name: 'writes no notes at its end',
    kind: 'joins',
    harm: 'lie',
    edits: [
      {
        room: 'src/money',
        find: '      await writing;\n      await writeAll();',
        instead: '      await writing;',
      },
    ],
    tests: ['test/money/late-notes.test.ts'],
  },
  {
    core: 'new',
    name: 'takes an outcome that was received for one that was missed',
    kind: 'joins',
    harm: 'lost money',
    edits: [
      {
        room: 'src/money',
        find: "    if (deliveries.get(id) === 'received') return;\n",
        instead: '',
      },
    ],
    tests: ['test/money/late-notes.test.ts'],
  },
  {
    core: 'new',
    name: 'takes an answer for delivered when it is sent',
    kind: 'joins',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: "else void recipient.received.then((isReceived) => deliver(op.id, isReceived ? 'received' : 'missed'));",
        instead: "else deliver(op.id, 'received');",
      },
    ],
    tests: ['test/money/late-notes.test.ts'],
  },
  {
    core: 'new',
    name: 'takes an answer 3 for the outcome',
    kind: 'joins',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: "if (isOpen(op) || op.standing === 'Disputed') deliver(op.id, 'missed');\n      else if",
        instead: 'if',
      },
    ],
    tests: ['test/money/late-notes.test.ts'],
  },
  {
    core: 'new',
    name: 'loses a wake-up that comes while the row is read',
    kind: 'joins',
    harm: 'lie',
    edits: [
      {
        room: 'src/money',
        find: '      watch.mustLookAgain = true;\n      return;',
        instead: '      return;',
      },
    ],
    tests: ['test/money/waits.test.ts'],
  },
  {
    core: 'new',
    name: 'trusts that every wake-up arrives',
    kind: 'joins',
    harm: 'stuck',
    edits: [
      {
        room: 'src/money',
        find: '      } else watch.cancelPoll = clock.after(pollEveryMs, () => look(id));',
        instead: '      }',
      },
    ],
    tests: ['test/money/waits.test.ts'],
  },
  {
    core: 'new',
    name: 'does not look once more when the time of a wait is over',
    kind: 'joins',
    harm: 'lie',
    edits: [
      {
        room: 'src/money',
        find: '          isOver = true;\n          look(id);',
        instead: '          end();',
      },
    ],
    tests: ['test/money/waits.test.ts'],
  },
  {
    core: 'new',
    name: 'waits on for a caller who is gone',
    kind: 'joins',
    harm: 'stuck',
    edits: [
      {
        room: 'src/money',
        find: '        caller?.onLeft(end);\n',
        instead: '',
      },
    ],
    tests: ['test/money/waits.test.ts'],
  },
  {
    core: 'new',
    name: 'waits on when the call that it joined was answered 3',
    kind: 'joins',
    harm: 'lie',
    edits: [
      {
        room: 'src/money',
        find: "!isOpen({ state }) || (state === 'unknown' && from !== 'unknown')",
        instead: '!isOpen({ state })',
      },
    ],
    tests: ['test/money/waits.test.ts'],
  },
  {
    core: 'new',
    name: 'takes what a person does for a delivery to the till',
    kind: 'joins',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: "if (isEqual && answer.code !== 'Device_Busy' && !isByPerson) notes",
        instead: "if (isEqual && answer.code !== 'Device_Busy' && isByPerson !== null) notes",
      },
    ],
    tests: ['test/money/person-calls.test.ts'],
  },
  {
    core: 'new',
    name: 'does not wait for the note whether an answer arrived',
    kind: 'joins',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: '    await waitForDelivery(need.id);\n',
        instead: "    if (need.id === '') await waitForDelivery(need.id);\n",
      },
    ],
    tests: ['test/money/needs-and-stops.test.ts'],
  },
  {
    core: 'new',
    name: "ends a request to stop without waiting for the payment's own answer",
    kind: 'aborts',
    harm: 'lie',
    edits: [
      {
        room: 'src/money',
        find: 'await Promise.race([settling, sleep(clock, finalAnswerMs)]);',
        instead: 'await Promise.race([settling, sleep(clock, 0)]);',
      },
    ],
    tests: ['test/money/needs-and-stops.test.ts'],
  },
  {
    core: 'new',
    name: 'writes no callback',
    kind: 'order of callbacks',
    harm: 'callback',
    edits: [
      {
        room: 'src/money',
        find: '        const row = deps.callbackOf(notice, decided.next as Case);',
        instead: '        const row = notice.sequence < 0 ? deps.callbackOf(notice, decided.next as Case) : undefined;',
      },
    ],
    tests: ['test/invoices/life.test.ts'],
  },
  {
    core: 'new',
    name: 'keeps no payment of an invoice that it does not know',
    kind: 'sums',
    harm: 'lost money',
    edits: [
      {
        room: 'src/money',
        find: "if (effect.type !== 'unmatched') return;",
        instead: "if (effect.type !== 'unmatched' || effect.oid !== '') return;",
      },
    ],
    tests: ['test/invoices/unmatched-payments.test.ts'],
  },
];
