// Devices with one mistake each about what they wrote down, when they may begin and where they speak. Each says which checks must find it.
import { changedStore, forgetting, isLedger, later, naming, type PlantedFault } from './planting.ts';

export const forgetfulDevices: readonly PlantedFault[] = [
  {
    what: 'executes a doubled id a second time',
    foundBy: ['doubled-after-the-end', 'doubled-late', 'one-ending'],
    plant: (hands) => forgetting(hands, ({ outcome }) => outcome === 'done'),
  },
  {
    what: 'executes a doubled id a second time',
    kind: 'register',
    foundBy: ['doubled-after-the-end', 'prints', 'totals-close'],
    plant: (hands) => forgetting(hands, ({ outcome }) => outcome === 'done'),
  },
  {
    what: 'keeps a journal for each channel',
    foundBy: ['doubled-on-the-other-channel'],
    plant() {
      const flip = (id: unknown) =>
        typeof id === 'string' ? id.replace(/^./, (digit) => (Number.parseInt(digit, 16) ^ 8).toString(16)) : id;
      return {
        command: (command, channel) =>
          channel === 'mqtt'
            ? command
            : {
                ...command,
                id: flip(command['id']),
                args: { ...command['args'], ...('target' in command['args'] && { target: flip(command['args'].target) }) },
              },
        answer: (answer, channel) => (channel === 'mqtt' ? answer : { ...answer, id: flip(answer['id']) }),
      };
    },
  },
  {
    what: 'forgets its journal at a restart, under the same journalId',
    foundBy: ['restart'],
    plant: () => ({
      journal: (store) =>
        changedStore(store, { load: async () => ({ records: (await store.load()).records.slice(0, 1), isDamaged: false }) }),
    }),
  },
  {
    what: 'starts a new journal at each restart',
    foundBy: ['restart', 'one-journal'],
    plant: () => ({ journal: (store) => changedStore(store, { load: async () => ({ records: [], isDamaged: false }) }) }),
  },
  {
    what: 'says that an id is buried and does not write it down',
    foundBy: ['restart'],
    plant: () => ({
      journal: (store) =>
        changedStore(store, { append: async (record) => (record['outcome'] === 'never' ? undefined : store.append(record)) }),
    }),
  },
  {
    what: 'revives buried ids',
    foundBy: ['recalled-then-sent', 'restart'],
    plant({ random }) {
      const buried = new Set<string>();
      const names = new Map<string, string>();
      return {
        command(command) {
          if (command['name'] === 'Recall') buried.add(command['args'].target);
          if (!isLedger(command) || !buried.has(command['id'])) return command;
          const id = random.uuid();
          names.set(id, command['id']);
          return { ...command, id };
        },
        answer: (answer) => ({ ...answer, id: names.get(answer['id']) ?? answer['id'] }),
      };
    },
  },
  {
    what: 'answers Recall of an unknown id with running',
    foundBy: ['recall-unknown'],
    plant: () => ({ answer: (answer) => (answer['report']?.state === 'never' ? { ...answer, report: { state: 'running' } } : answer) }),
  },
  {
    what: 'refuses Recall of an unknown id',
    foundBy: ['recall-unknown'],
    plant: () => ({ answer: (answer) => (answer['report']?.state === 'never' ? { ...answer, outcome: 'refused', report: {} } : answer) }),
  },
  {
    what: 'does not answer Recall while a command runs',
    foundBy: ['recall-running'],
    plant: () => ({ answer: (answer) => (answer['report']?.state === 'running' ? undefined : answer) }),
  },
  {
    what: 'ignores startBy',
    foundBy: ['late'],
    plant: () => ({ command: (command) => (command['startBy'] ? { ...command, startBy: later(command['startBy']) } : command) }),
  },
  {
    what: 'looks at startBy before it looks into the journal',
    foundBy: ['doubled-late'],
    plant({ clock }) {
      const late = new Set<string>();
      return {
        command(command) {
          if (isLedger(command) && Date.parse(command['startBy']) < clock.now()) late.add(command['id']);
          return command;
        },
        answer: (answer) => (late.has(answer['id']) ? { ...answer, outcome: 'expired', report: undefined } : answer),
      };
    },
  },
  {
    what: 'ignores answerBy',
    foundBy: ['answer-by'],
    plant: () => ({ command: (command) => (command['answerBy'] ? { ...command, answerBy: later(command['answerBy']) } : command) }),
  },
  {
    what: 'sends another journalId with each answer',
    foundBy: ['one-journal'],
    plant: ({ random }) => ({ answer: (answer) => ({ ...answer, journalId: random.uuid() }) }),
  },
  { what: 'logs in without a will', foundBy: ['will'], plant: () => ({ login: { will: undefined } }) },
  {
    what: 'has a will that says nothing',
    foundBy: ['will'],
    plant: () => ({
      login: {
        will: { topic: 'tillgate/devices/11111111-1111-4111-8111-111111111111/presence', payload: Buffer.from('bye'), isRetained: false },
      },
    }),
  },
  { what: 'asks for a persistent session', foundBy: ['will'], plant: () => ({ login: { isClean: false } }) },
  {
    what: 'answers on a topic of its own invention',
    foundBy: ['runs', 'nothing-dropped'],
    plant: () => ({ channels: ['mqtt'], topic: (topic) => topic.replace('/answers/', '/replies/') }),
  },
  { what: 'answers every gateway at the first one’s address', foundBy: ['reply-to'], plant: () => ({ replyTo: () => 'conformance' }) },
  {
    what: 'says that it aborted what was charged',
    foundBy: ['abort-of-what-is-over'],
    plant: () => naming((answer, name) => (name === 'Abort' && answer['outcome'] === 'refused' ? { ...answer, outcome: 'done' } : answer)),
  },
  {
    what: 'refuses the Abort of an id that it never saw',
    foundBy: ['abort-unknown'],
    plant: () =>
      naming((answer, name) => (name === 'Abort' && answer['reason']?.includes('never seen') ? { ...answer, outcome: 'refused' } : answer)),
  },
  {
    what: 'says that it aborted, and charges all the same',
    foundBy: ['abort'],
    plant: () => ({ command: (command) => (command['name'] === 'Abort' ? { ...command, name: 'Status' } : command) }),
  },
  {
    what: 'takes messages of any size',
    foundBy: ['oversized'],
    plant: () => ({ command: (command) => ({ ...command, args: { ...command['args'], padding: undefined } }) }),
  },
  {
    what: 'falls silent after a message that is too large',
    foundBy: ['oversized'],
    plant() {
      let isSilent = false;
      return {
        command(command) {
          isSilent ||= command['args']?.padding !== undefined;
          return isSilent ? undefined : command;
        },
      };
    },
  },
  {
    what: 'runs commands without startBy and answerBy',
    foundBy: ['no-limits'],
    plant: ({ clock }) => ({
      command: (command) => {
        const soon = new Date(clock.now() + 30_000).toISOString();
        return isLedger(command) ? { ...command, startBy: command['startBy'] ?? soon, answerBy: command['answerBy'] ?? soon } : command;
      },
    }),
  },
  { what: 'takes commands of any version', foundBy: ['broken-messages'], plant: () => ({ command: (command) => ({ ...command, v: 1 }) }) },
];
