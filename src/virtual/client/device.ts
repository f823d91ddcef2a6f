// The device's side of the protocol, without input and output: commands come in by `receive`, answers go out by `send`.
// LedgerCommands handles ledger commands; Recall, Abort, Status and LastTransaction, which change nothing, are always answered here.
// All state is in the journal, so that after a power cut a new instance on the same journal continues where the old one stopped.

import type { Clock } from '../../kernel/clock.ts';
import { movesCardMoney, operationNamed } from '../../kernel/operations.ts';
import type { World } from '../../kernel/world.ts';
import type { JsonObject, LedgerCommandName } from '../../link/protocol.ts';
import type { PresenceMessage } from '../../link/wire-schemas.ts';
import { type Answers, createAnswers, lastState, recallReport, type SendAnswer } from './answers.ts';
import { type DropReason, isLedgerCommand, type ReceivedCommand, readCommand } from './command-reader.ts';
import type { DeviceChannel } from './connector.ts';
import type { DeviceWork, Ending } from './device-work.ts';
import type { Journal, JournalEntry } from './journal.ts';
import { LedgerCommands } from './ledger-commands.ts';

export interface DeviceDeps extends Pick<World, 'random' | 'logger'> {
  deviceId: string;
  /** The device's own clock, which may be wrong. */
  clock: Clock;
  journal: Journal;
  work: DeviceWork;
  send: SendAnswer;
  /** The journal cannot be written: the device must stop, because it can no longer keep its promises. */
  onFailure(error: unknown): void;
}

export class Device {
  readonly bootId: string;
  readonly dropped: Partial<Record<DropReason, number>> = {};
  readonly #deps: DeviceDeps;
  readonly #answers: Answers;
  readonly #ledgerCommands: LedgerCommands;
  #isHalted = false;

  constructor(deps: DeviceDeps) {
    this.#deps = deps;
    this.bootId = deps.random.uuid();
    this.#answers = createAnswers({ ...deps, send: (answer, replyTo, first) => !this.#isHalted && deps.send(answer, replyTo, first) });
    this.#ledgerCommands = new LedgerCommands({ ...deps, answers: this.#answers });
  }

  /** Recovers commands that a power cut interrupted. Call it before the first command. */
  recover(): Promise<void> {
    return this.#ledgerCommands.recover();
  }

  receive(bytes: Uint8Array, channel: DeviceChannel): void {
    if (this.#isHalted) return;
    const { deviceId, logger } = this.#deps;
    const read = readCommand(bytes);
    if (!read.command) {
      this.dropped[read.dropped] = (this.dropped[read.dropped] ?? 0) + 1;
      logger.warn({ deviceId, channel, problem: read.dropped }, 'dropped a message that is not a valid command');
      return;
    }
    this.#handle(read.command, channel).catch((error: unknown) => {
      if (!this.#isHalted) this.#deps.onFailure(error);
    });
  }

  presence(): PresenceMessage {
    const { deviceId, clock, journal, work } = this.#deps;
    return {
      v: 1,
      device: deviceId,
      online: true,
      clock: new Date(clock.now()).toISOString(),
      bootId: this.bootId,
      ...(journal.journalId === undefined ? {} : { journalId: journal.journalId }),
      kind: work.kind,
      ...work.facts(),
    };
  }

  /** A channel has connected: sends the waiting endings. */
  channelUp(): void {
    this.#answers.channelUp();
  }

  /** Runs a local ledger command; a known id returns its ending and is not run again. */
  runLocal({ id, name, args, withinMs }: { id: string; name: LedgerCommandName; args: JsonObject; withinMs: number }): Promise<Ending> {
    const byMs = this.#deps.clock.now() + withinMs;
    return this.#ledgerCommands.runHere({ id, name, args, replyTo: '', startByMs: byMs, answerByMs: byMs });
  }

  /** Power cut: from here on nothing is written, sent or begun. */
  halt(): void {
    this.#isHalted = true;
    this.#ledgerCommands.halt();
  }

  async #handle(command: ReceivedCommand, channel: DeviceChannel): Promise<void> {
    const { name } = command;
    if (isLedgerCommand(name)) return await this.#ledgerCommands.take({ ...command, name }, channel);
    if (name === 'Recall') return await this.#recall(command, channel);
    if (name === 'Abort') return await this.#abort(command, channel);
    if (name === 'Status') return this.#answers.reply(command, channel, 'done', { report: { online: true, ...this.#deps.work.facts() } });
    if (name === 'LastTransaction') return this.#answers.reply(command, channel, 'done', { report: this.#lastTransaction() });
    this.#answers.reply(command, channel, 'unsupported', { reason: 'No such command here.' });
  }

  // Promise 3.
  async #recall(command: ReceivedCommand, channel: DeviceChannel): Promise<void> {
    const { journal } = this.#deps;
    const answers = this.#answers;
    const target = targetOf(command);
    if (journal.journalId === undefined) return answers.reply(command, channel, 'unsupported', { reason: 'This device keeps no journal.' });
    if (target === undefined) return answers.reply(command, channel, 'refused', { reason: 'target must be a command id.' });
    const entry = journal.find(target);
    if (!entry) {
      if (await this.#ledgerCommands.writeTombstone(target)) answers.reply(command, channel, 'done', { report: { state: 'never' } });
      return;
    }
    if (entry.state !== 'ended') this.#ledgerCommands.addReplyTo(target, command.replyTo);
    await journal.flushed();
    const report = recallReport(journal.find(target) ?? entry);
    answers.reply(command, channel, 'done', { report: { ...report } });
  }

  async #abort(command: ReceivedCommand, channel: DeviceChannel): Promise<void> {
    const { journal } = this.#deps;
    const answers = this.#answers;
    const target = targetOf(command);
    if (target === undefined) return answers.reply(command, channel, 'refused', { reason: 'target must be a command id.' });
    const result = this.#ledgerCommands.abort(target);
    if (result === 'stopped') return answers.reply(command, channel, 'done');
    if (result === 'too-late') return answers.reply(command, channel, 'refused', { reason: 'It is too late: the bank has been asked.' });
    if (journal.journalId === undefined || journal.find(target)) {
      return answers.reply(command, channel, 'refused', { reason: 'That command does not run here.' });
    }
    if (await this.#ledgerCommands.writeTombstone(target)) {
      answers.reply(command, channel, 'done', { reason: 'It was never seen and will not run.' });
    }
  }

  #lastTransaction(): JsonObject {
    const { journal, work } = this.#deps;
    const last = journal.last();
    const document = work.lastDocument?.() ?? {};
    if (!last) return { state: 'none', ...document };
    const payment = isPayment(last) ? undefined : journal.last(isPayment);
    return { ...document, ...describe(last), ...(payment && { lastPayment: describe(payment) }) };
  }
}

function isPayment({ name }: JournalEntry): boolean {
  return movesCardMoney(operationNamed(name));
}

function describe(entry: JournalEntry): JsonObject {
  const { documentNr } = entry.args;
  return {
    ...(typeof documentNr === 'string' ? { documentNr } : {}),
    ...entry.report,
    commandId: entry.id,
    kind: entry.name,
    state: lastState(entry),
  };
}

function targetOf(command: ReceivedCommand): string | undefined {
  const { target } = command.args;
  return typeof target === 'string' && target.length <= 64 ? target.toLowerCase() : undefined;
}
