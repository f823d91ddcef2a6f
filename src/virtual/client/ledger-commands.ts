// The ledger commands of a device, from the look-up in the journal to the ending that is written and sent: promises 1, 2, 4 and 6.
// One runs at a time. After `halt` nothing is written, sent or begun; the next instance finds the running command in the journal.
//
//   command -> known? -> answer from the journal
//           -> unsupported, expired, busy, or refused by the device: written, answered
//           -> taken: written, `accepted` -> the device's work -> begin(): written -> bank or fiscal memory -> ended: written, answered

import type { World } from '../../kernel/world.ts';
import type { LedgerCommandName } from '../../link/protocol.ts';
import { type Answers, endingOf } from './answers.ts';
import type { ReceivedCommand } from './command-reader.ts';
import type { DeviceChannel } from './connector.ts';
import type { DeviceWork, Ending } from './device-work.ts';
import type { Journal, JournalEntry } from './journal.ts';
import { createTask, type RunningTask } from './task.ts';

export type LedgerCommand = ReceivedCommand & { name: LedgerCommandName };

/** A local command has no channel. */
type From = DeviceChannel | undefined;

interface Deps extends Pick<World, 'clock' | 'logger'> {
  deviceId: string;
  journal: Journal;
  work: DeviceWork;
  answers: Answers;
  /** The journal cannot be written: the device must stop, because it can no longer keep its promises. */
  onFailure(error: unknown): void;
}

export class LedgerCommands {
  readonly #deps: Deps;
  readonly #waitingHere = new Map<string, ((ending: Ending) => void)[]>();
  #running: RunningTask | undefined;
  #isHalted = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  async take(command: LedgerCommand, from: From): Promise<void> {
    const known = this.#deps.journal.find(command.id);
    if (known) return await this.#repeat(known, command, from);
    const entry = this.#newEntry(command);
    const no = this.#whyNot(command);
    if (no) return await this.#turnDown(entry, no, from);

    const task = this.#createTask({ ...entry, hasRun: true });
    this.#running = task;
    if (!(await this.#write(task.entry))) return;
    // Writing may have been slow: a command that has not begun by startBy must not begin.
    const late = this.#lateStart(command);
    if (late) {
      task.entry = { ...task.entry, hasRun: false };
      return await this.#finish(task, late, from);
    }
    this.#deps.answers.reply(command, from, 'accepted');
    await this.#finish(task, await this.#execute(task), from);
  }

  /** Runs a local command and resolves with its ending; a known id returns its earlier ending. */
  runHere(command: LedgerCommand): Promise<Ending> {
    const known = this.#deps.journal.find(command.id);
    if (known?.state === 'ended') return Promise.resolve(endingOf(known));
    return new Promise((resolve, reject) => {
      this.#waitingHere.set(command.id, [...(this.#waitingHere.get(command.id) ?? []), resolve]);
      this.take(command, undefined).catch(reject);
    });
  }

  /** Stops the command if it runs and has not begun. */
  abort(id: string): 'stopped' | 'too-late' | 'not-running' {
    if (this.#running?.entry.id !== id) return 'not-running';
    return this.#running.abort() ? 'stopped' : 'too-late';
  }

  /** An unknown id must never run: the tombstone is written before the answer. */
  async writeTombstone(id: string): Promise<boolean> {
    const tombstone: ReceivedCommand = { id, name: '', replyTo: '', startByMs: undefined, answerByMs: undefined, args: {} };
    return await this.#write({ ...this.#newEntry(tombstone), state: 'ended', outcome: 'never' });
  }

  /** Adds a receiver of the command's ending. */
  addReplyTo(id: string, replyTo: string): void {
    const running = this.#running?.entry.id === id ? this.#running : undefined;
    const entry = running?.entry ?? this.#deps.journal.find(id);
    if (!entry || replyTo === '' || entry.replyTos.includes(replyTo)) return;
    const widened = { ...entry, replyTos: [...entry.replyTos, replyTo] };
    if (running) running.entry = widened;
    void this.#write(widened);
  }

  /** Recovers commands that a power cut interrupted. */
  async recover(): Promise<void> {
    const { journal } = this.#deps;
    for (const entry of journal.unfinished()) {
      const task = this.#createTask(entry);
      this.#running = task;
      const ending = await this.#endingOfInterrupted(task.entry);
      // An old terminal keeps only its last transaction, not its receivers.
      if (journal.journalId === undefined) task.entry = { ...task.entry, replyTos: [] };
      await this.#finish(task, ending, undefined);
    }
  }

  /** Power cut. */
  halt(): void {
    this.#isHalted = true;
    this.#running?.halt();
  }

  // Promise 1: a known command does not run again. It is answered from the journal: its ending, or `accepted` while it runs.
  async #repeat(entry: JournalEntry, command: LedgerCommand, from: From): Promise<void> {
    const { journal, answers } = this.#deps;
    if (entry.state !== 'ended') this.addReplyTo(entry.id, command.replyTo);
    await journal.flushed();
    const now = journal.find(command.id) ?? entry;
    const { outcome, ...extras } = endingOf(now);
    if (now.state === 'ended') answers.reply(command, from, outcome, extras);
    else answers.reply(command, from, 'accepted');
  }

  #whyNot(command: LedgerCommand): Ending | undefined {
    const { work } = this.#deps;
    if (!work.commands.has(command.name)) return { outcome: 'unsupported', reason: `This ${work.kind} has no ${command.name}.` };
    const late = this.#lateStart(command);
    if (late) return late;
    // Promise 4.
    if (this.#running) return { outcome: 'busy', reason: `${this.#running.entry.name} is running.` };
    return work.judge(command.name, command.args);
  }

  // Promise 2, first half.
  #lateStart(command: LedgerCommand): Ending | undefined {
    if (command.startByMs === undefined || this.#deps.clock.now() <= command.startByMs) return undefined;
    return { outcome: 'expired', reason: 'It arrived after startBy.' };
  }

  async #execute(task: RunningTask): Promise<Ending> {
    const { work, logger, deviceId } = this.#deps;
    try {
      return await work.execute(task);
    } catch (error) {
      logger.error({ deviceId, commandId: task.id, err: error }, 'a command failed in the device');
      return await this.#endingOfInterrupted(task.entry);
    }
  }

  // Promise 6: begun and no ending. A command that had not begun had no effect.
  async #endingOfInterrupted(entry: JournalEntry): Promise<Ending> {
    const { work, logger, deviceId } = this.#deps;
    if (entry.state === 'taken') return { outcome: 'refused', reason: 'It was interrupted before it began.' };
    try {
      return await work.recover(entry);
    } catch (error) {
      logger.error({ deviceId, commandId: entry.id, err: error }, 'the ending of an interrupted command is unknown');
      return { outcome: 'unknown', reason: 'It was interrupted, and neither bank nor memory can tell how it ended.' };
    }
  }

  /** Ends a command that was not accepted. An old terminal cannot store that. */
  async #turnDown(entry: JournalEntry, ending: Ending, from: From): Promise<void> {
    const ended: JournalEntry = { ...entry, ...ending, state: 'ended', hasRun: false };
    if (this.#deps.journal.journalId === undefined || (await this.#write(ended))) this.#sayEnding(ended, from);
  }

  /** Writes the ending and then sends it. The device is free again when it is written, before it is sent. */
  async #finish(task: RunningTask, ending: Ending, from: From): Promise<void> {
    const ended: JournalEntry = { ...task.entry, ...ending, state: 'ended' };
    if (!(await this.#write(ended))) return;
    this.#running = undefined;
    this.#sayEnding(ended, from);
  }

  #sayEnding(entry: JournalEntry, from: From): void {
    this.#deps.answers.sendEnding(entry, from);
    for (const resolve of this.#waitingHere.get(entry.id) ?? []) resolve(endingOf(entry));
    this.#waitingHere.delete(entry.id);
  }

  #createTask(entry: JournalEntry): RunningTask {
    return createTask(entry, { clock: this.#deps.clock, write: (changed) => this.#write(changed), isHalted: () => this.#isHalted });
  }

  #newEntry(command: ReceivedCommand): JournalEntry {
    const nowMs = this.#deps.clock.now();
    return {
      id: command.id,
      name: command.name,
      args: command.args,
      replyTos: command.replyTo === '' ? [] : [command.replyTo],
      takenAtMs: nowMs,
      answerByMs: command.answerByMs ?? nowMs,
      state: 'taken',
      hasRun: false,
    };
  }

  /** False if the device is off or must stop: then nothing further may happen. */
  async #write(entry: JournalEntry): Promise<boolean> {
    if (this.#isHalted) return false;
    try {
      await this.#deps.journal.write(entry);
    } catch (error) {
      if (!this.#isHalted) this.#deps.onFailure(error);
      return false;
    }
    return !this.#isHalted;
  }
}
