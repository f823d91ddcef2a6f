// The latest messages of the devices in order: a short list of the real messages.
import type { WireView } from '../cabinet/playground/view-schema.ts';
import type { Clock } from '../kernel/clock.ts';
import type { AnswerMessage } from '../link/wire-schemas.ts';
import { isJsonObject, readCommand } from '../virtual/client/command-reader.ts';
import type { WireWatch } from '../virtual/mishaps/misdelivery.ts';

export type WireLog = ReturnType<typeof createWireLog>;

const kept = 100;
/** The answer to a Recall has only the id of the Recall; so many targets are kept. */
const keptQuestions = 50;

export function createWireLog(clock: Clock, onChange: () => void) {
  let messages: WireView[] = [];
  let seq = 0;
  const targets = new Map<string, string>();

  function add(message: Omit<WireView, 'seq' | 'at'>): void {
    seq += 1;
    messages = [...messages.slice(1 - kept), { seq, at: new Date(clock.now()).toISOString(), ...message }];
    onChange();
  }

  function rememberQuestion(id: string, target: string): void {
    targets.set(id, target);
    const [oldest] = targets.keys();
    if (targets.size > keptQuestions && oldest !== undefined) targets.delete(oldest);
  }

  return {
    /** The observer for this device. */
    watch: (deviceId: string): WireWatch => ({
      toDevice(via, bytes) {
        const { command } = readCommand(bytes);
        if (!command) return;
        const { target } = command.args;
        const isAboutAnother = typeof target === 'string' && (command.name === 'Recall' || command.name === 'Abort');
        if (isAboutAnother) rememberQuestion(command.id, target);
        const commandId = isAboutAnother ? target : command.id;
        add({ deviceId, via, direction: 'toDevice', what: command.name, commandId, fate: 'carried' });
      },
      toGateway(via, answer, fate) {
        const target = targets.get(answer.id);
        add({ deviceId, via, direction: 'toGateway', what: whatOf(answer, target), commandId: target ?? answer.id, fate });
      },
      channelChanged: onChange,
    }),
    /** Oldest first. */
    messages: () => messages,
    /** The sequence number of the newest message. */
    lastSeq: () => seq,
  };
}

/** For the answer to a Recall: the state of its target, with the outcome if `final`. */
function whatOf({ outcome, report }: AnswerMessage, target: string | undefined): string {
  if (target === undefined || outcome !== 'done' || !isJsonObject(report) || typeof report.state !== 'string') return outcome;
  return typeof report.outcome === 'string' ? `${report.state}, ${report.outcome}` : report.state;
}
