// The device's side of the protocol: its seven promises, free of input and output. Commands come in by `receive`, answers go
// out by `send`; the work itself is the Handler's. Everything known is in the journal, so that a new one of these, made over
// the same journal after a power cut, goes on where the old one stopped.
//
//   command -> known? -> answer from the journal
//           -> unsupported, expired, busy, or the handler says no: written, answered
//           -> taken: written, `accepted` -> handler -> begin(): written -> bank or fiscal memory -> ended: written, answered
import type { Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { Random } from '../../kernel/random.ts';
import type { JsonObject, LedgerCommandName, Outcome, PresenceMessage } from '../../link/protocol.ts';
import { type AnswerExtras, createAnswers, endingOf, lastState, recallReport, type SendAnswer } from './answers.ts';
import { type DropReason, isLedgerCommand, type ReceivedCommand, readCommand } from './command-reader.ts';
import type { DeviceChannel } from './connector.ts';
import type { Ending, Handler } from './device-kind.ts';
import type { Journal, JournalEntry } from './journal.ts';
import { createTask, type RunningTask } from './task.ts';

export interface DeviceDeps {
  deviceId: string;
  /** The device's own clock, which may be wrong. */
  clock: Clock;
  random: Random;
  logger: Logger;
  journal: Journal;
  handler: Handler;
  send: SendAnswer;
  /** The journal cannot be written: the device must stop, it can no longer keep its promises. */
  onFailure(error: unknown): void;
}

export interface Device {
  readonly bootId: string;
  /** Asks after what a power cut interrupted. Call it before the first command comes in. */
  recover(): Promise<void>;
  receive(bytes: Uint8Array, channel: DeviceChannel): void;
  presence(): PresenceMessage;
  /** A channel came up: endings that found none go out now. */
  channelUp(): void;
  /** Runs a ledger command of the device's own; a known id gets its ending and is not run again. */
  runLocal(command: { id: string; name: LedgerCommandName; args: JsonObject; withinMs: number }): Promise<Ending>;
  readonly dropped: Readonly<Partial<Record<DropReason, number>>>;
  /** The power goes: from here on nothing is written, sent or begun. */
  halt(): void;
}

export function createDevice(deps: DeviceDeps): Device {
  const { deviceId, clock, random, logger, journal, handler } = deps;
  const bootId = random.uuid();
  const answers = createAnswers({ deviceId, clock, journal, send: deps.send });
  const dropped: Partial<Record<DropReason, number>> = {};
  const localWaiting = new Map<string, ((ending: Ending) => void)[]>();
  let running: RunningTask | undefined;
  let isHalted = false;

  function reply(command: ReceivedCommand, channel: DeviceChannel | undefined, outcome: Outcome, extras?: AnswerExtras): void {
    if (!isHalted && command.replyTo !== '') deps.send(answers.answer(command.id, outcome, extras), command.replyTo, channel);
  }

  async function write(entry: JournalEntry): Promise<boolean> {
    if (isHalted) return false;
    try {
      await journal.write(entry);
    } catch (error) {
      if (!isHalted) deps.onFailure(error);
      return false;
    }
    return !isHalted;
  }

  function sayEnding(entry: JournalEntry, channel: DeviceChannel | undefined): void {
    answers.sendEnding(entry, channel);
    for (const resolve of localWaiting.get(entry.id) ?? []) resolve(endingOf(entry));
    localWaiting.delete(entry.id);
  }

  /** Ends a command that was not taken on. An old terminal has nowhere to keep that. */
  async function turnDown(entry: JournalEntry, ending: Ending, channel: DeviceChannel | undefined): Promise<void> {
    const ended: JournalEntry = { ...entry, ...ending, state: 'ended', hasRun: false };
    if (journal.journalId === undefined || (await write(ended))) sayEnding(ended, channel);
  }

  /** Writes the ending and then says it. The device is free again when it is written, before it is said. */
  async function finish(task: RunningTask, ending: Ending, channel: DeviceChannel | undefined): Promise<void> {
    const ended: JournalEntry = { ...task.entry, ...ending, state: 'ended' };
    if (!(await write(ended))) return;
    running = undefined;
    sayEnding(ended, channel);
  }

  function newEntry(command: ReceivedCommand): JournalEntry {
    return {
      id: command.id,
      name: command.name,
      args: command.args,
      replyTos: command.replyTo === '' ? [] : [command.replyTo],
      takenAtMs: clock.now(),
      answerByMs: command.answerByMs ?? clock.now(),
      state: 'taken',
      hasRun: false,
    };
  }

  function judge(command: ReceivedCommand & { name: LedgerCommandName }): Ending | undefined {
    if (!handler.commands.has(command.name)) return { outcome: 'unsupported', reason: `This ${handler.kind} has no ${command.name}.` };
    const late = judgeStart(command);
    if (late) return late;
    if (running) return { outcome: 'busy', reason: `${running.entry.name} is running.` };
    return handler.judge(command.name, command.args);
  }

  // Promise 2, first half.
  function judgeStart(command: ReceivedCommand): Ending | undefined {
    if (command.startByMs === undefined || clock.now() <= command.startByMs) return undefined;
    return { outcome: 'expired', reason: 'It came after startBy.' };
  }

  async function take(command: ReceivedCommand & { name: LedgerCommandName }, channel: DeviceChannel | undefined): Promise<void> {
    const known = journal.find(command.id);
    if (known) return await repeat(known, command, channel);
    const entry = newEntry(command);
    const no = judge(command);
    if (no) return await turnDown(entry, no, channel);

    const task = createTask({ ...entry, hasRun: true }, { clock, write, isHalted: () => isHalted });
    running = task;
    if (!(await write(task.entry))) return;
    // The disk may have been slow: what has not begun by startBy does not begin.
    const late = judgeStart(command);
    if (late) {
      task.entry = { ...task.entry, hasRun: false };
      return await finish(task, late, channel);
    }
    reply(command, channel, 'accepted');
    const ending = await execute(task);
    await finish(task, ending, channel);
  }

  async function execute(task: RunningTask): Promise<Ending> {
    try {
      return await handler.execute(task);
    } catch (error) {
      logger.error({ deviceId, commandId: task.id, err: error }, 'a command broke off in the device');
      return await settle(task.entry);
    }
  }

  // Promise 6: begun and no answer. What was not begun touched nothing.
  async function settle(entry: JournalEntry): Promise<Ending> {
    if (entry.state === 'taken') return { outcome: 'refused', reason: 'It was interrupted before it began.' };
    try {
      return await handler.recover(entry);
    } catch (error) {
      logger.error({ deviceId, commandId: entry.id, err: error }, 'nobody can tell how an interrupted command ended');
      return { outcome: 'unknown', reason: 'It was interrupted, and neither bank nor memory can tell how it ended.' };
    }
  }

  // Promise 1: what is known does not run again. The journal tells how it ended; until then it is `accepted`.
  async function repeat(entry: JournalEntry, command: ReceivedCommand, channel: DeviceChannel | undefined): Promise<void> {
    if (entry.state !== 'ended') addReplyTo(entry.id, command.replyTo);
    await journal.flushed();
    const now = journal.find(command.id) ?? entry;
    const { outcome, ...extras } = endingOf(now);
    if (now.state === 'ended') reply(command, channel, outcome, extras);
    else reply(command, channel, 'accepted');
  }

  function addReplyTo(id: string, replyTo: string): void {
    const entry = running?.entry.id === id ? running.entry : journal.find(id);
    if (!entry || replyTo === '' || entry.replyTos.includes(replyTo)) return;
    const widened = { ...entry, replyTos: [...entry.replyTos, replyTo] };
    if (running?.entry.id === id) running.entry = widened;
    void write(widened);
  }

  /** An id never seen shall never run: the tombstone is written before anyone is told. */
  async function bury(id: string): Promise<boolean> {
    const tombstone: ReceivedCommand = { id, name: '', replyTo: '', startByMs: undefined, answerByMs: undefined, args: {} };
    return await write({ ...newEntry(tombstone), state: 'ended', outcome: 'never' });
  }

  // Promise 3.
  async function recall(command: ReceivedCommand, channel: DeviceChannel): Promise<void> {
    const target = targetOf(command);
    if (journal.journalId === undefined) return reply(command, channel, 'unsupported', { reason: 'This device keeps no journal.' });
    if (target === undefined) return reply(command, channel, 'refused', { reason: 'target must be a command id.' });
    const entry = journal.find(target);
    if (!entry) {
      if (await bury(target)) reply(command, channel, 'done', { report: { state: 'never' } });
      return;
    }
    if (entry.state !== 'ended') addReplyTo(target, command.replyTo);
    await journal.flushed();
    const report = recallReport(journal.find(target) ?? entry);
    reply(command, channel, 'done', { report: { ...report } });
  }

  async function abort(command: ReceivedCommand, channel: DeviceChannel): Promise<void> {
    const target = targetOf(command);
    if (target === undefined) return reply(command, channel, 'refused', { reason: 'target must be a command id.' });
    if (running?.entry.id === target) {
      if (running.abort()) return reply(command, channel, 'done');
      return reply(command, channel, 'refused', { reason: 'It is too late: the bank has been asked.' });
    }
    if (journal.journalId === undefined || journal.find(target)) {
      return reply(command, channel, 'refused', { reason: 'That command does not run here.' });
    }
    if (await bury(target)) reply(command, channel, 'done', { reason: 'It was never seen and will not run.' });
  }

  function lastTransaction(): JsonObject {
    const last = journal.last();
    const document = handler.lastDocument?.() ?? {};
    if (!last) return { state: 'none', ...document };
    return { ...document, ...last.report, commandId: last.id, kind: last.name, state: lastState(last) };
  }

  async function handle(command: ReceivedCommand, channel: DeviceChannel): Promise<void> {
    const { name } = command;
    if (isLedgerCommand(name)) return await take({ ...command, name }, channel);
    if (name === 'Recall') return await recall(command, channel);
    if (name === 'Abort') return await abort(command, channel);
    if (name === 'Status') return reply(command, channel, 'done', { report: { online: true, ...handler.facts() } });
    if (name === 'LastTransaction') return reply(command, channel, 'done', { report: lastTransaction() });
    reply(command, channel, 'unsupported', { reason: 'No such command here.' });
  }

  return {
    bootId,
    dropped,
    receive(bytes, channel) {
      if (isHalted) return;
      const read = readCommand(bytes);
      if (!read.command) {
        dropped[read.dropped] = (dropped[read.dropped] ?? 0) + 1;
        logger.warn({ deviceId, channel, problem: read.dropped }, 'dropped a message that is no command');
        return;
      }
      handle(read.command, channel).catch((error: unknown) => {
        if (!isHalted) deps.onFailure(error);
      });
    },
    async recover() {
      for (const entry of journal.unfinished()) {
        const task = createTask(entry, { clock, write, isHalted: () => isHalted });
        running = task;
        const ending = await settle(task.entry);
        // An old terminal forgot who asked; it only knows its last transaction.
        if (journal.journalId === undefined) task.entry = { ...task.entry, replyTos: [] };
        await finish(task, ending, undefined);
      }
    },
    presence: () => ({
      v: 1,
      device: deviceId,
      online: true,
      clock: new Date(clock.now()).toISOString(),
      bootId,
      ...(journal.journalId === undefined ? {} : { journalId: journal.journalId }),
      kind: handler.kind,
      ...handler.facts(),
    }),
    channelUp: answers.channelUp,
    runLocal({ id, name, args, withinMs }) {
      return new Promise((resolve, reject) => {
        const known = journal.find(id);
        if (known?.state === 'ended') return resolve(endingOf(known));
        localWaiting.set(id, [...(localWaiting.get(id) ?? []), resolve]);
        const now = clock.now();
        take({ id, name, args, replyTo: '', startByMs: now + withinMs, answerByMs: now + withinMs }, undefined).catch(reject);
      });
    },
    halt() {
      isHalted = true;
      running?.halt();
    },
  };
}

function targetOf(command: ReceivedCommand): string | undefined {
  const { target } = command.args;
  return typeof target === 'string' && target.length <= 64 ? target.toLowerCase() : undefined;
}
