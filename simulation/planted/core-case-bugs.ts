// Bugs in what the new core reads, assumes, remembers and guards.
import type { PlantedBug } from './planted-bug.ts';

export const coreCaseBugs: readonly PlantedBug[] = [
  {
    core: 'new',
    name: 'leaves notes that are not written yet out of the facts of a call',
    kind: 'joins',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: 'event && overlay ? surroundings : stored',
        instead: 'event && overlay ? stored : stored',
      },
    ],
    tests: ['test/money/load.test.ts'],
  },
  {
    core: 'new',
    name: 'takes no operation for one that a gateway waits for',
    kind: 'joins',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: 'if (living.has(instance)) waitedFor.add(id);',
        instead: 'if (living.has(`not ${instance}`)) waitedFor.add(id);',
      },
    ],
    tests: ['test/money/loaded-facts.test.ts'],
  },
  {
    core: 'new',
    name: 'takes a dead gateway for a living one',
    kind: 'leases',
    harm: 'stuck',
    edits: [
      {
        room: 'src/money',
        find: 'and "heartbeat_at" > now_ms() - ${sql.lit(deadAfterMs)}`',
        instead: 'and "heartbeat_at" > 0 - ${sql.lit(deadAfterMs)}`',
      },
    ],
    tests: ['test/money/loaded-facts.test.ts'],
  },
  {
    core: 'new',
    name: 'does not raise the version of what a decision relied on',
    kind: 'guards',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: '} else if (fields.length > 0 || isRoot.has(key)) {',
        instead: '} else if (fields.length > 0) {',
      },
    ],
    tests: ['test/money/two-at-once.test.ts'],
  },
  {
    core: 'new',
    name: "does not guard that an assumed number is no invoice's OID",
    kind: 'guards',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: 'absent: facts.isAssumed ? assumedNumbers(facts)',
        instead: 'absent: facts.isAssumed ? assumedNumbers({ ...facts, names: {} })',
      },
    ],
    tests: ['test/money/two-at-once.test.ts'],
  },
  {
    core: 'new',
    name: 'settles as never beside an acceptance that another gateway has just written',
    kind: 'guards',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: "if (state === 'never') return { acceptedAt: null };",
        instead: "if (state === 'never') return {};",
      },
    ],
    tests: ['test/money/two-at-once.test.ts'],
  },
  {
    core: 'new',
    name: 'disputes beside a delivery that was just written',
    kind: 'guards',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: "return state === 'disputed' ? { receivedAt: before['receivedAt'] } : {};",
        instead: 'return {};',
      },
    ],
    tests: ['test/money/two-at-once.test.ts'],
  },
  {
    core: 'new',
    name: 'guards no device of an assumed or remembered case',
    kind: 'guards',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: 'return { ...place, guard: { ...heldBy(before as unknown as Device), ...closesOf(before, changed) } };',
        instead: 'return { ...place, guard: { ...closesOf(before, changed) } };',
      },
    ],
    tests: ['test/money/two-at-once.test.ts'],
  },
  {
    core: 'new',
    name: 'does not guard the closes of a remembered device',
    kind: 'guards',
    harm: 'lie',
    edits: [
      {
        room: 'src/money',
        find: "  changed.includes('closes') ? toColumns('devices', { closes }) : {};",
        instead: "  changed.includes('closes') ? toColumns('devices', {}) : toColumns('devices', { closes });",
      },
    ],
    tests: ['test/money/two-at-once.test.ts'],
  },
  {
    core: 'new',
    name: 'notes an acceptance whatever was settled meanwhile',
    kind: 'guards',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: "const guard = fields.includes('acceptedAt') ? { state, acceptedAt } : isOfState;",
        instead: "const guard = fields.includes('acceptedAt') ? { acceptedAt } : isOfState;",
      },
    ],
    tests: ['test/money/two-at-once.test.ts'],
  },
  {
    core: 'new',
    name: 'notes a delivery after a dispute has begun',
    kind: 'guards',
    harm: 'lie',
    edits: [
      {
        room: 'src/money',
        find: "const isOfState = fields.includes('receivedAt') ? { state, receivedAt } : { receivedAt };",
        instead: 'const isOfState = { receivedAt };',
      },
    ],
    tests: ['test/money/two-at-once.test.ts'],
  },
  {
    core: 'new',
    name: 'leads a key away from what another call has given it',
    kind: 'keys',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: "if (version === undefined) return { ...place, guard: toColumns(name, { subjectId: before['subjectId'] }) };",
        instead: 'if (version === undefined) return { ...place, guard: {} };',
      },
    ],
    tests: ['test/money/two-at-once.test.ts'],
  },
  {
    core: 'new',
    name: 'forgets the number that the bank gave a payment',
    kind: 'sums',
    harm: 'stuck',
    edits: [
      {
        room: 'src/money',
        find: '      ops.flatMap((op) => bankNumber(facts.ops[op.id], op)),',
        instead: '      ops.flatMap((op) => bankNumber(op, op)),',
      },
    ],
    tests: ['test/money/two-at-once.test.ts'],
  },
  {
    core: 'new',
    name: 'remembers what was connected',
    kind: 'guards',
    harm: 'lie',
    edits: [
      {
        room: 'src/money',
        find: '{ case: present(known.case), looked }',
        instead: '{ case: known.case, looked }',
      },
    ],
    tests: ['test/money/run.test.ts'],
  },
  {
    core: 'new',
    name: 'remembers the rows as they were before their commit',
    kind: 'guards',
    harm: 'lie',
    edits: [
      {
        room: 'src/money',
        find: '[version]: Number(row[version]) + 1 };',
        instead: '[version]: Number(row[version]) };',
      },
    ],
    tests: ['test/money/run.test.ts'],
  },
  {
    core: 'new',
    name: 'closes the remembered document whatever the call names',
    kind: 'joins',
    harm: 'lie',
    edits: [
      {
        room: 'src/money',
        find: '  if (document.operationId !== operationId || document.documentNr !== documentNr) return undefined;\n',
        instead: '',
      },
    ],
    tests: ['test/money/run.test.ts'],
  },
  {
    core: 'new',
    name: 'assumes that a receipt names no other payment',
    kind: 'guards',
    harm: 'double charge',
    edits: [
      {
        room: 'src/money',
        find: 'const isAlone = cardElementsOf(event.receipt).every(({ documentNr }) => documentNr === undefined);',
        instead: 'const isAlone = cardElementsOf(event.receipt).length >= 0;',
      },
    ],
    tests: ['test/money/needs-and-stops.test.ts'],
  },
  {
    core: 'new',
    name: 'assumes that a time limit is far',
    kind: 'expiry',
    harm: 'lie',
    edits: [
      {
        room: 'src/money',
        find: 'event.validTo <= now + nearMs',
        instead: 'event.validTo <= now - 1_000 * nearMs',
      },
    ],
    tests: ['test/money/needs-and-stops.test.ts'],
  },
];
