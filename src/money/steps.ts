// What people do in the cabinet: they decide what no device can report [D15], end documents, declare hardware lost, ask a device again; and
// what they read about one operation. Each step is one event; its entry in the audit log is part of the same commit.
import type { AuditEntry } from '../access/audit.ts';
import type { Cards } from '../cards/cards.ts';
import type { Database } from '../database/database.ts';
import type { Logger } from '../kernel/logger.ts';
import { createKeyedCalls } from '../ledger/calls/keyed-calls.ts';
import type { Command } from '../ledger/command.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { listReview } from '../ledger/review-store.ts';
import { findCommand } from '../ledger/store.ts';
import { listEvents, type Timeline } from '../ledger/timeline.ts';
import type { Link } from '../link/link.ts';
import type { Id, Op } from './case.ts';
import type { Event, Of } from './event.ts';
import type { FollowUp } from './follow-up.ts';
import type { Recall } from './recall.ts';
import { replyTo } from './replies.ts';
import { isOpen } from './rules/facts.ts';
import { cannotAsk, personDecidesAfterMs } from './rules/people.ts';
import type { Ran, Run } from './run.ts';
import type { Sending } from './send.ts';
import { waitingDecisions } from './sweeps.ts';

type PeopleSteps = Pick<
  Ledger,
  'find' | 'findByKey' | 'listReview' | 'decide' | 'declareLost' | 'waitingDecisions' | 'askDevice' | 'timelineOf' | 'stats'
> &
  Pick<Cards, 'closeDocumentByHand'>;

interface Deps {
  database: Database;
  logger: Logger;
  link: { presence: Pick<Link['presence'], 'isLiveAnywhere'> };
  timeline: Pick<Timeline, 'add' | 'flush'>;
  run: Run;
  recall: Recall;
  sending: Pick<Sending, 'has' | 'count'>;
  followUp: Pick<FollowUp, 'contradictions'>;
}

export function createPeopleSteps({ database, logger, link, timeline, run, recall, sending, followUp }: Deps): PeopleSteps {
  const { queries } = database;

  /** An abort is no operation that a person could do something about. */
  async function find(id: Id): Promise<Command | undefined> {
    const command = await findCommand(queries, id);
    return (command?.name as string | undefined) === 'Abort' ? undefined : command;
  }

  async function looked(id: Id): Promise<{ op: Op | undefined; now: number }> {
    const { case: c } = await run({ type: 'Outcome', id });
    return { op: c.ops[id], now: c.now };
  }

  async function take(event: Event, audit: AuditEntry | undefined): Promise<Ran> {
    const ran = await run(event, { audit });
    if (ran.answer) replyTo(ran.answer);
    return ran;
  }

  /**
   * A connected device is asked first; its answer takes precedence: a register that has the bank's approval and waits for paper continues for
   * as long as that takes. A decision that is too early is refused anyway.
   */
  async function askedFirst(op: Op, now: number): Promise<Of<'Decide'>['found']> {
    const isEarly = now < op.answerBy + personDecidesAfterMs;
    if (!isOpen(op) || op.isEndedUnknown || isEarly || !link.presence.isLiveAnywhere(op.deviceId)) return undefined;
    const { said } = await recall.compare(op);
    if (said === 'running') return 'running';
    if (said !== 'end') return undefined;
    const { op: after } = await looked(op.id);
    const isNews = after && isOpen(after) && !after.isEndedUnknown && after.review?.reason !== op.review?.reason;
    return isNews ? 'news' : undefined;
  }

  return {
    find,
    findByKey: createKeyedCalls({ database, logger }).findByKey,
    listReview: (limit, merchantId) => listReview(queries, limit, merchantId),
    async decide(id, { state, reason, actor, operationId, rrn, closesReview, contradiction }, audit) {
      const { op, now } = await looked(id);
      const seen = closesReview ? { contradiction: contradiction ?? op?.contradiction ?? null } : {};
      const found = op && (await askedFirst(op, now));
      await take(
        { type: 'Decide', id, isDone: state === 'done', reason, by: actor, operationId, rrn, found, ...seen },
        audit && { ...audit, merchantId: op?.merchantId },
      );
      const command = await findCommand(queries, id);
      if (!command) throw new Error(`The command ${id} was decided, and has no row.`);
      return command;
    },
    async closeDocumentByHand({ commandId: id, actor, reason }) {
      const { op } = await looked(id);
      const audit = { actor, action: 'document.close', subject: id, merchantId: op?.merchantId, detail: { reason } };
      await take({ type: 'CloseByHand', id, reason, by: actor }, audit);
    },
    async declareLost({ deviceId, actor, reason }, audit) {
      const isConnected = link.presence.isLiveAnywhere(deviceId);
      const { added } = await take({ type: 'HardwareLost', deviceId, reason, by: actor }, audit);
      return { released: (added?.steps ?? []).filter(({ step }) => step === 'hardware lost').length, isConnected };
    },
    waitingDecisions: () => waitingDecisions(database.pages),
    async askDevice(command, actor) {
      const { id } = command;
      // Its call waits for the device's answer, and asks by itself if contact is lost.
      if (sending.has(id)) return command;
      const { op } = await looked(id);
      const refusal = op && cannotAsk(op);
      if (refusal) replyTo(refusal);
      timeline.add({ commandId: id, step: 'asked by person', detail: `${actor}: asked` });
      if (op) await (isOpen(op) ? recall.ask(op) : recall.compare(op));
      return (await findCommand(queries, id)) ?? command;
    },
    async timelineOf(commandId) {
      await timeline.flush();
      return listEvents(queries, commandId);
    },
    stats: () => ({ inFlight: sending.count, contradictions: followUp.contradictions() }),
  };
}
