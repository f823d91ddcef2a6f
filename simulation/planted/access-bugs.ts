// Bugs in access rights. The simulation has one merchant and no users: these are for the tests.
import type { PlantedBug } from './planted-bug.ts';

export const accessBugs: readonly PlantedBug[] = [
  {
    name: 'lets a session live on for 12 hours more whenever it is confirmed',
    kind: 'expiry',
    harm: 'lie',
    edits: [
      {
        room: 'src/access/people',
        find: 'rotated_at: nowMs, confirmed_at: nowMs }))',
        instead: 'rotated_at: nowMs, confirmed_at: nowMs, expires_at: sql<number>`now_ms() + ${sessionLifetimeMs}` }))',
      },
    ],
    tests: ['test/cabinet/people.test.ts'],
  },
  {
    name: 'does not count a call that is refused for its module against the rate',
    kind: 'guards',
    harm: 'lie',
    edits: [
      {
        room: 'src/http',
        find: 'rates.countKey(caller);\n    requireModule(caller, modules);',
        instead: 'requireModule(caller, modules);\n    rates.countKey(caller);',
      },
    ],
    tests: ['test/http/judge.test.ts'],
  },
  {
    name: 'finds the invoices of other merchants by the beginning of an OID',
    kind: 'guards',
    harm: 'lie',
    edits: [
      {
        room: 'src/cabinet/views/lists',
        find: '...(filter.q === undefined ? [] : [ownedBy(scope, sql`i.merchant_id`)]),',
        instead: '',
      },
      { room: 'src/cabinet/views/lists', find: '    .where(ownedBy(scope, sql`i.merchant_id`))\n', instead: '' },
    ],
    tests: ['test/cabinet/roles.test.ts'],
  },
  {
    name: "shows the name of another merchant's device in Attention",
    kind: 'guards',
    harm: 'lie',
    edits: [
      {
        room: 'src/cabinet/views/figures',
        find: ".onRef('d.merchant_id', '=', 'o.merchant_id')",
        instead: '',
      },
    ],
    tests: ['test/cabinet/roles.test.ts'],
  },
];
