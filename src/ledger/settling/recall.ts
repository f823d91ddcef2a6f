// Asking a device for the outcome of a command. A Recall starts nothing, and a duplicated answer settles nothing twice.
// A device without a journal is asked for its LastTransaction, which settles only by an equal command id; otherwise an operator decides.
//
// Invariants: one Recall of a command at a time on this instance, and only one instance asks: it takes the command over first, by a guarded
// update that also sets the time of the next Recall. If the process dies after that, the next Recall runs at that time.
import type { Database } from '../../database/database.ts';
import { growingPauseMs } from '../../kernel/backoff.ts';
import type { Link } from '../../link/link.ts';
import type { AnswerMessage } from '../../link/wire-schemas.ts';
import { type Command, isOpen } from '../command.ts';
import * as reviews from '../review-store.ts';
import type { Finding } from '../rules.ts';
import * as store from '../store.ts';
import type { Timeline } from '../timeline.ts';
import { findingOfLastTransaction, findingOfRecall, received } from './findings.ts';
import type { Settlements } from './settlement.ts';

const timeoutMs = 10_000;
/** 2 s, 4 s, 8 s ... 5 min. */
const pauses = { firstMs: 2_000, maxMs: 5 * 60_000 };
const lastIsAnother = 'The device keeps no journal, and its last transaction is another one.';

export interface Recall {
  /**
   * Asks the device about an open command now; returns the command after the answer. `isDeviceBack`: the device has just reconnected, so a
   * Recall that is under way was sent while it was offline.
   */
  ask(command: Command, isDeviceBack?: boolean): Promise<Command>;
  /** The same, also for a settled command: the device's journal is compared with the settlement. */
  recheck(command: Command): Promise<Command>;
  /**
   * The same for a settled command, also for a device without a journal; false: the journal under whose id the command was sent has not
   * answered [D304].
   */
  confirm(command: Command): Promise<boolean>;
  /**
   * Asks a connected device about an open command: 'running', or the command as it is after the answer, settled or on the review list.
   * Undefined: the device is not connected, or has not answered.
   */
  whatNow(command: Command): Promise<Command | 'running' | undefined>;
}

interface Deps {
  database: Database;
  link: Pick<Link, 'ask' | 'presence'>;
  instanceId: string;
  settlements: Pick<Settlements, 'apply' | 'accepted' | 'stillRuns'>;
  timeline: Timeline;
}

export function createRecall({ database, link, instanceId, settlements, timeline }: Deps): Recall {
  const underWay = new Map<string, Promise<Command>>();

  function ask(command: Command, isDeviceBack = false): Promise<Command> {
    const running = underWay.get(command.id);
    if (running && !isDeviceBack) return running;
    const asked: Promise<Command> = takeOverAndAsk(command).finally(() => {
      if (underWay.get(command.id) === asked) underWay.delete(command.id);
    });
    underWay.set(command.id, asked);
    return asked;
  }

  async function takeOverAndAsk(command: Command): Promise<Command> {
    const pauseMs = growingPauseMs(command.recalls + 1, pauses);
    if (!(await store.takeOver(database.queries, command, instanceId, pauseMs))) return store.latestOf(database.queries, command);
    const found = await askWhatBecame(command);
    return found === undefined || found === 'running' ? store.latestOf(database.queries, command) : found;
  }

  /** Asks the device once. The timeline lists question and answer, also if the answer is unusable. */
  async function question(command: Command): Promise<{ answer: AnswerMessage | undefined; finding: Finding | 'running' | undefined }> {
    const { id: commandId, deviceId, journalId } = command;
    const channel = link.presence.of(deviceId)?.liveOn[0];
    // Steps of a settled command are counted, because its device is asked at every reconnect.
    const note = isOpen(command) ? timeline.add : timeline.addCounted;
    note({ commandId, step: journalId === null ? 'asked last transaction' : 'recall', channel });
    const asked =
      journalId === null ? ({ name: 'LastTransaction', args: {} } as const) : ({ name: 'Recall', args: { target: commandId } } as const);
    const answer = await link.ask(deviceId, { ...asked, timeoutMs, preferredChannel: channel ?? 'mqtt' });
    if (!answer) return { answer, finding: undefined };
    const finding = journalId === null ? findingOfLastTransaction(command, answer) : findingOfRecall(answer);
    note({
      commandId,
      step: journalId === null ? 'last transaction reported' : 'recalled',
      channel,
      detail: received(command, answer, finding),
    });
    return { answer, finding };
  }

  async function askWhatBecame(command: Command): Promise<Command | 'running' | undefined> {
    const hasJournal = command.journalId !== null;
    const { answer, finding } = await question(command);
    if (finding === 'running') settlements.accepted(command.id);
    else if (finding) return settlements.apply(command, finding, hasJournal ? 'recall' : 'last-transaction');
    else if (answer && !hasJournal && command.reviewSinceMs === null) await putOnReview(command);
    return finding;
  }

  async function putOnReview({ id }: Command): Promise<void> {
    if (await reviews.putOnReview(database.queries, id, lastIsAnother, { unless: 'settled' }))
      timeline.add({ commandId: id, step: 'review', detail: lastIsAnother });
  }

  /** Compares the device's answer with the settlement. */
  async function compare(command: Command): Promise<{ command: Command; isAnswered: boolean }> {
    const { answer, finding } = await question(command);
    const isAnswered = answer !== undefined && (answer.journalId ?? null) === command.journalId;
    if (!finding) return { command, isAnswered };
    const compared = finding === 'running' ? settlements.stillRuns(command) : settlements.apply(command, finding, 'recall');
    return { command: await compared, isAnswered };
  }

  return {
    ask,
    whatNow: async (command) => (link.presence.isLiveAnywhere(command.deviceId) ? askWhatBecame(command) : undefined),
    async recheck(command) {
      if (isOpen(command)) return ask(command);
      return command.journalId === null ? command : (await compare(command)).command;
    },
    confirm: async (command) => (await compare(command)).isAnswered,
  };
}
