// The money core, assembled: every operation that moves money or changes a fiscal memory, and every invoice.
import { createMerchantDevices } from '../access/merchant-device.ts';
import { type Addressee, outboxRow } from '../callbacks/outbox.ts';
import { expandTemplate } from '../callbacks/template.ts';
import { createCommit } from '../database/commit.ts';
import type { Values } from '../database/commit-data.ts';
import type { Shared } from '../database/shared-deps.ts';
import { type Cancel, every } from '../kernel/clock.ts';
import { createTimeline } from '../ledger/timeline.ts';
import { createUnmatchedReports } from '../ledger/unmatched.ts';
import type { Link } from '../link/link.ts';
import { assume, assumeNew } from './assume.ts';
import { createCalls } from './calls.ts';
import type { Case, Id, Notice, Presence } from './case.ts';
import { createDryRun } from './dry-run.ts';
import type { Effect } from './event.ts';
import { createFollowUp } from './follow-up.ts';
import { createLateAnswers } from './late-answers.ts';
import { createLoad } from './load.ts';
import { createMemory } from './memory.ts';
import { createNeeds } from './needs.ts';
import { createNotes } from './notes.ts';
import { createRecall } from './recall.ts';
import { createRecovery } from './recovery.ts';
import { createRun } from './run.ts';
import { createSending } from './send.ts';
import { createPeopleSteps } from './steps.ts';
import { sweepKeys } from './sweeps.ts';
import { commitTables } from './tables.ts';
import { createWaits } from './waits.ts';

export interface MoneyDeps extends Shared {
  link: Link;
  callbacks: { wake(written?: readonly Addressee[]): void };
  /** Calls that may wait together for one operation [D62]. */
  joinersPerCommand?: number | undefined;
  /** TILLGATE_SCAN_GRACE_S [D22]. */
  scanGraceS: number;
}

const sweepKeysEveryMs = 10 * 60_000;

/** The parts that need nothing of the routes. */
export function createMoneyCore(deps: MoneyDeps) {
  const { database, clock, logger, link, instanceId, callbacks } = deps;
  const timeline = createTimeline(deps);
  const unmatched = createUnmatchedReports(deps);
  const merchantDevices = createMerchantDevices(deps);
  const live = (deviceId: Id, storedJournalId: string | undefined): Pick<Presence, 'isOnline' | 'journalId' | 'features'> => ({
    isOnline: link.presence.isLiveAnywhere(deviceId),
    journalId: link.presence.journalOf(deviceId, storedJournalId) ?? null,
    features: link.presence.of(deviceId)?.features,
  });
  const followUp = createFollowUp({ database, logger, timeline });
  const notes = createNotes({ clock, logger, commit: (event) => run(event) });
  const load = createLoad({ database, scanGraceMs: deps.scanGraceS * 1000, surroundings: { live, overlay: notes.overlay } });
  const run = createRun({
    ...{ clock, instanceId, followUp },
    commit: createCommit(database, commitTables),
    load,
    memory: createMemory(live),
    async assumed(event, now) {
      if (event.type === 'Create') return assumeNew(event, now);
      if (event.type !== 'Pay' && event.type !== 'Print') return undefined;
      const { merchantId, deviceId } = event;
      if (!link.presence.isLiveAnywhere(deviceId)) return undefined;
      const device = await merchantDevices.require(merchantId, deviceId, false).catch(() => undefined);
      return device && assume(event, { now, presence: { kind: device.kind, isDisabled: false, ...live(deviceId, device.journalId) } });
    },
    callbackOf: (notice, after) => callbackOf(deps, notice, after),
    wakeCallbacks: (rows) => callbacks.wake(rows.map((row) => ({ merchantId: String(row['merchant_id']), host: String(row['host']) }))),
    meet: (need) => meet(need),
    perform: (effect) => perform(effect),
    readBack: (id) => sending.readBack(id),
  });
  const sending = createSending({ ...deps, timeline, notes, run, unmatched });
  const waits = createWaits(deps);
  const recall = createRecall({ ...deps, timeline, notes, run });
  const meet = createNeeds({ clock, run, recall });
  const calls = createCalls({ ...deps, timeline, run, notes, waits, sending, recall });
  const lateAnswers = createLateAnswers({ ...deps, run, notes, unmatched });
  const recovery = createRecovery({ ...deps, run, recall, lateAnswers, sending });
  const parts = { ...deps, timeline, recall, sending, followUp };
  const steps = createPeopleSteps({ ...parts, run });
  const dryRun = createDryRun(load);
  // A dry run asks no device first.
  const drySteps = createPeopleSteps({ ...parts, run: dryRun, link: { presence: { isLiveAnywhere: () => false } } });
  let stopSweep: Cancel = () => {};

  function perform(effect: Effect): void {
    if (effect.type === 'delivered') notes.received(effect.id);
    if (effect.type === 'orphan') {
      const { oid, merchantId, deviceId, reason, receiptId } = effect;
      const facts = { oid, merchantId, deviceId, reason };
      if (effect.isKept) logger.warn(facts, 'a payment was refused: money was taken');
      else logger.error({ ...facts, receiptId }, 'a payment was refused, and the orphan board has no room for it');
    }
  }

  /** After the retention time [D66]: true if the record is a tombstone now. */
  const removals = {
    async operation(id: Id, given: { isCallbackPending: boolean }): Promise<boolean> {
      const { case: c } = await run({ type: 'Remove', id, ...given });
      return (c.ops[id]?.removedAt ?? null) !== null;
    },
    async invoice(oid: Id, given: { isCallbackPending: boolean }): Promise<boolean> {
      const { case: c } = await run({ type: 'RemoveInvoice', oid, ...given });
      return (c.invoices[oid]?.removedAt ?? null) !== null;
    },
  };

  return {
    ...{ run, calls, steps, unmatched, removals },
    dry: { run: dryRun, steps: drySteps },
    start() {
      recovery.start();
      stopSweep = every(clock, sweepKeysEveryMs, () =>
        sweepKeys(database.queries).catch((error: unknown) => logger.warn({ err: error }, 'old Idempotency-Keys could not be removed')),
      );
    },
    /** Call it after the link has stopped. */
    async stop() {
      recovery.stop();
      stopSweep();
      await sending.ended();
      sending.stop();
      waits.stop();
      merchantDevices.stop();
      await notes.stop();
      await timeline.flush();
    },
  };
}

/**
 * The row of a notice. A stored template may no longer be readable; that must not prevent the settlement by a register or an
 * operator [D122].
 */
function callbackOf({ logger, ...deps }: MoneyDeps, notice: Notice, after: Case): Values | undefined {
  const { subjectKind, subjectId, sequence, state, receiptId, deviceId, uri } = notice;
  const merchantId = (subjectKind === 'invoice' ? after.invoices[subjectId] : after.ops[subjectId])?.merchantId ?? '';
  try {
    const url = expandTemplate(uri, { OID: subjectId, State: state, ReceiptID: receiptId, DeviceID: deviceId });
    const { id, host, traceparent } = outboxRow(deps, { merchantId, url });
    return {
      ...{ id, merchant_id: merchantId, subject_kind: subjectKind, subject_id: subjectId, sequence, url, host, traceparent },
      ...{ state: 'pending', attempts: 0 },
    };
  } catch (error) {
    const documentNr = after.ops[subjectId]?.documentNr ?? undefined;
    const subject = subjectKind === 'invoice' ? { oid: subjectId } : { commandId: subjectId, deviceId, documentNr };
    logger.error({ ...subject, merchantId, state, err: error }, 'a CallbackURI can no longer be read, so its ERP gets no notice');
    return undefined;
  }
}
