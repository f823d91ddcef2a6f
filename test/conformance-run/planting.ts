// How a mistake is planted into a device: on its wire, in its journal, behind its back.
import type { RecordStore } from '../../src/virtual/client/record-store.ts';
import type { Fault, Fields, Hands } from './memory-desk.ts';

export interface PlantedFault {
  what: string;
  kind?: 'terminal' | 'register';
  /** Ids of checks: all of them must be broken. */
  foundBy: string[];
  plant(hands: Hands): Fault;
}

export const isLedger = ({ name }: Fields) => !['Recall', 'Abort', 'Status', 'LastTransaction', 'Juggle'].includes(name);
export const later = (time: string) => new Date(Date.parse(time) + 3_600_000).toISOString();

/** An id that has had this outcome is taken for a new one: its command runs again, and Recall does not know it. */
export function forgetting({ random }: Hands, outcome: (answer: Fields) => boolean, options: { recallToo?: boolean } = {}): Fault {
  const ended = new Set<string>();
  const names = new Map<string, string>();
  return {
    command(command) {
      if (isLedger(command) && ended.has(command['id'])) {
        const id = random.uuid();
        names.set(id, command['id']);
        return { ...command, id };
      }
      const target = command['args']?.target;
      if (options.recallToo && command['name'] === 'Recall' && ended.has(target)) return { ...command, args: { target: random.uuid() } };
      return command;
    },
    answer(answer) {
      const id = names.get(answer['id']) ?? answer['id'];
      if (outcome(answer)) ended.add(id);
      return { ...answer, id };
    },
  };
}

export const changedStore = (store: RecordStore, changes: Partial<RecordStore>): RecordStore => ({
  load: () => store.load(),
  append: (record) => store.append(record),
  replace: (records) => store.replace(records),
  close: () => store.close(),
  ...changes,
});

/** The names of commands by id, for faults that go by them. */
export function naming(change: (answer: Fields, name: string, args: Fields) => Fields | undefined): Fault {
  const commands = new Map<string, Fields>();
  return {
    command(command) {
      commands.set(command['id'], command);
      return command;
    },
    answer(answer) {
      const { name = '', args = {} } = commands.get(answer['id']) ?? {};
      return change(answer, name, args);
    },
  };
}

/** The money moves once more, and nobody is told. */
export function twice(name: string, { inject, random, clock }: Hands): Fault {
  const hidden = new Set<string>();
  const sent = new Map<string, Fields>();
  return {
    command(command) {
      if (command['name'] === name && !sent.has(command['id'])) sent.set(command['id'], command);
      return command;
    },
    answer(answer) {
      if (hidden.has(answer['id'])) return undefined;
      const original = sent.get(answer['id']);
      if (original && answer['outcome'] === 'done' && !hidden.size) {
        const id = random.uuid();
        hidden.add(id);
        const soon = new Date(clock.now() + 10_000).toISOString();
        inject({ ...original, id, startBy: soon, answerBy: soon });
      }
      return answer;
    },
  };
}
