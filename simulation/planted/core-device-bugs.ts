// Bugs in what the new core sends, asks and takes up again.
import type { PlantedBug } from './planted-bug.ts';

export const coreDeviceBugs: readonly PlantedBug[] = [
  {
    core: 'new',
    name: 'sends what a caller who has left no longer waits for',
    kind: 'joins',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: "    if (recipient?.hasLeft()) return { type: 'NotSent', id: op.id, reason: 'The caller disconnected before the command was sent.' };\n",
        instead: '',
      },
    ],
    tests: ['test/money/sending.test.ts'],
  },
  {
    core: 'new',
    name: 'sends again what ended and could not be committed',
    kind: 'commit and publish',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: 'return await noted(carry(sent).then((event) => conclude(sent.op, event)));',
        instead:
          'return await noted(\n          carry(sent)\n            .then((event) => conclude(sent.op, event))\n            .then(async (ran) => ran ?? conclude(sent.op, await carry(sent))),\n        );',
      },
    ],
    tests: ['test/money/sending.test.ts'],
  },
  {
    core: 'new',
    name: 'takes silence for a command that was not sent',
    kind: 'journal rules',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: "return { type: 'Deadline', id, isContactLost: true };",
        instead: "return { type: 'NotSent', id, reason: 'No answer.' };",
      },
    ],
    tests: ['test/money/sending.test.ts'],
  },
  {
    core: 'new',
    name: 'gives up an outcome that could not be committed',
    kind: 'commit and publish',
    harm: 'stuck',
    edits: [
      {
        room: 'src/money',
        find: '      tryAfter(growingPauseMs(1, pauses), end, 1);\n',
        instead: '',
      },
    ],
    tests: ['test/money/sending.test.ts'],
  },
  {
    core: 'new',
    name: 'does not tell that a command was accepted before its never',
    kind: 'journal rules',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: 'return { ...reportEvent(id, result.by, result), wasAccepted: result.wasAccepted };',
        instead: 'return reportEvent(id, result.by, result);',
      },
      {
        room: 'src/money',
        find: '{ ...event, wasAccepted: event.wasAccepted || notes.wasAccepted(id) } : event);\n      // The database',
        instead: '{ ...event, wasAccepted: false } : event);\n      // The database',
      },
    ],
    tests: ['test/money/sending.test.ts'],
  },
  {
    core: 'new',
    name: 'looks once for what may have been committed',
    kind: 'commit and publish',
    harm: 'stuck',
    edits: [
      {
        room: 'src/money',
        find: 'if (!ran.case.ops[id]) lookFor(id, later);',
        instead: 'if (!ran.case.ops[id]) lookFor(id, later.slice(later.length));',
      },
    ],
    tests: ['test/money/sending.test.ts'],
  },
  {
    core: 'new',
    name: 'asks devices about what it is executing',
    kind: 'joins',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: '      ids.add(id);\n      try {',
        instead: '      try {',
      },
    ],
    tests: ['test/money/sending.test.ts'],
  },
  {
    core: 'new',
    name: 'does not end what a dead call has left',
    kind: 'leases',
    harm: 'stuck',
    edits: [
      {
        room: 'src/money',
        find: '[askDue, endAbandoned, reviewOverdue, askAboutDueDecisions]',
        instead: '[askDue, reviewOverdue, askAboutDueDecisions]',
      },
    ],
    tests: ['test/money/recovery.test.ts'],
  },
  {
    core: 'new',
    name: 'asks no device again',
    kind: 'leases',
    harm: 'stuck',
    edits: [
      {
        room: 'src/money',
        find: '[askDue, endAbandoned,',
        instead: '[endAbandoned,',
      },
    ],
    tests: ['test/money/recovery.test.ts'],
  },
  {
    core: 'new',
    name: 'tells no person of what stays open',
    kind: 'leases',
    harm: 'stuck',
    edits: [
      {
        room: 'src/money',
        find: 'endAbandoned, reviewOverdue, askAboutDueDecisions]',
        instead: 'endAbandoned, askAboutDueDecisions]',
      },
    ],
    tests: ['test/money/recovery.test.ts'],
  },
  {
    core: 'new',
    name: 'asks no device again about decisions of persons',
    kind: 'journal rules',
    harm: 'stuck',
    edits: [
      {
        room: 'src/money',
        find: 'reviewOverdue, askAboutDueDecisions]',
        instead: 'reviewOverdue]',
      },
    ],
    tests: ['test/money/recovery.test.ts'],
  },
  {
    core: 'new',
    name: 'skips the rest of a sweep when one event fails',
    kind: 'leases',
    harm: 'stuck',
    edits: [
      {
        room: 'src/money',
        find: '          if (isDown) throw error;',
        instead: '          throw error;',
      },
    ],
    tests: ['test/money/recovery.test.ts'],
  },
  {
    core: 'new',
    name: 'tries an event that fails first in every sweep',
    kind: 'leases',
    harm: 'stuck',
    edits: [
      {
        room: 'src/money',
        find: 'const retryMs = aside.add(id);',
        instead: 'const retryMs = id.length;',
      },
    ],
    tests: ['test/money/recovery.test.ts'],
  },
  {
    core: 'new',
    name: 'does not ask a device that is back',
    kind: 'leases',
    harm: 'stuck',
    edits: [
      {
        room: 'src/money',
        find: 'if (!isStopped) returns.isBack(deviceId);',
        instead: '',
      },
    ],
    tests: ['test/money/recovery.test.ts'],
  },
  {
    core: 'new',
    name: 'forgets a device that comes back while others are looked up',
    kind: 'joins',
    harm: 'stuck',
    edits: [
      {
        room: 'src/money',
        find: '    for (let ids = take(); ids.length > 0; ids = take()) {',
        instead: '    for (let ids = take(); ids.length > 0; ids = []) {',
      },
    ],
    tests: ['test/money/recovery.test.ts'],
  },
  {
    core: 'new',
    name: 'forgets that a device came back while it was asked',
    kind: 'joins',
    harm: 'stuck',
    edits: [
      {
        room: 'src/money',
        find: '} while (rounds.get(deviceId) === true);',
        instead: '} while (rounds.get(deviceId) === undefined);',
      },
    ],
    tests: ['test/money/recovery.test.ts'],
  },
  {
    core: 'new',
    name: 'takes late answers from whatever device',
    kind: 'journal rules',
    harm: 'lie',
    edits: [
      {
        room: 'src/money',
        find: 'if (row?.device_id !== deviceId) return unmatched',
        instead: 'if (!row) return unmatched',
      },
    ],
    tests: ['test/money/recovery.test.ts'],
  },
  {
    core: 'new',
    name: 'drops late acceptances',
    kind: 'journal rules',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: '} else if (row.accepted_at === null) notes.accepted(id);',
        instead: '}',
      },
    ],
    tests: ['test/money/recovery.test.ts'],
  },
  {
    core: 'new',
    name: 'takes the last transaction of another command for the one that it asked about',
    kind: 'journal rules',
    harm: 'lie',
    edits: [
      {
        room: 'src/money',
        find: "if (!report || typeof commandId !== 'string' || sameNumber(commandId) !== id) return",
        instead: "if (!report || typeof commandId !== 'string') return",
      },
    ],
    tests: ['test/money/recall.test.ts'],
  },
  {
    core: 'new',
    name: 'takes any journal for the own one',
    kind: 'journal rules',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: 'const isOwn = (answer.journalId ?? null) === journalId;',
        instead: 'const isOwn = true || journalId === null;',
      },
    ],
    tests: ['test/money/recall.test.ts'],
  },
  {
    core: 'new',
    name: 'leaves out which journal has answered a question',
    kind: 'journal rules',
    harm: 'lie',
    edits: [
      {
        room: 'src/money',
        find: '    journalId: answer.journalId,\n  });\n}\n\nfunction ofLast',
        instead: '  });\n}\n\nfunction ofLast',
      },
    ],
    tests: ['test/money/recall.test.ts'],
  },
  {
    core: 'new',
    name: 'takes what still runs for an unusable answer',
    kind: 'journal rules',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: "if (recalled.state === 'running') return { type: 'Accepted', id, isRunning: true };",
        instead: "if (recalled.state === 'running') return undefined;",
      },
    ],
    tests: ['test/money/recall.test.ts'],
  },
  {
    core: 'new',
    name: 'does not note that a caller was left without the outcome',
    kind: 'joins',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: 'if (row.request_hash !== null && row.outcome_missed_at === null) notes.missed(op.id);',
        instead: '',
      },
    ],
    tests: ['test/money/recall.test.ts'],
  },
  {
    core: 'new',
    name: 'decides a never without the acceptance that it has gathered',
    kind: 'journal rules',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: "await run(event.type === 'Report' ? { ...event, wasAccepted: notes.wasAccepted(commandId) } : event);",
        instead: 'await run(event);',
      },
    ],
    tests: ['test/money/recall.test.ts'],
  },
];
