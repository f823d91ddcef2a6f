// Every answer against the command that its own call began [D59]: 0 means that it was done, or that an equal one was; 1, 2, 30, 31, 40,
// 41 and 50 mean that this call's own command was not.
import type { Books } from './books.ts';

const meansNotDone: readonly (number | undefined)[] = [1, 2, 30, 31, 40, 41, 50];

export function checkAnswers({ shop, commands, erp }: Books): void {
  for (const command of commands) {
    const call = command.request === null ? undefined : erp.calls.get(command.request);
    if (!call) continue;
    if (command.state === 'done' && meansNotDone.includes(call.code))
      shop.violated(`${call.name} (${call.id}) was answered ${call.code}, and its own command ${command.id} was done`);
    const isLastIssue = command.reissuedAs === null;
    if (isLastIssue && (command.state === 'refused' || command.state === 'never') && call.code === 0)
      shop.violated(`${call.name} (${call.id}) was answered 0, and its own command ${command.id} is ${command.state}`);
  }
}
