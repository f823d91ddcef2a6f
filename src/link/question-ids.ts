// The ids of questions (Recall, Abort, Status, LastTransaction), which no row records: UUIDs of version 8, while commands have version 4.
// So a late answer to a question is recognised by any process of the gateway, also after a restart.
import type { Random } from '../kernel/random.ts';

export function newQuestionId(random: Pick<Random, 'uuid'>): string {
  return random.uuid().replace(/^(.{14})./, '$18');
}

export function isQuestionId(id: string): boolean {
  return id[14] === '8';
}
