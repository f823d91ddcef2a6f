// Checks of the messages themselves, because a correct device would hide a faulty gateway: no ledger command to a device that is busy
// with another, no second copy to a device without a journal, none after startBy, which is the same in every copy [D65].
import type { Clock } from '../src/kernel/clock.ts';
import { personDecidesAfterMs } from '../src/ledger/settle-batch.ts';
import { startWithinMs } from '../src/link/carrying/deadlines.ts';
import { ledgerCommandNames } from '../src/link/protocol.ts';
import type { SharedStorage } from './shared-storage.ts';
import type { ShopDevice } from './shop-devices.ts';
import type { Passing } from './wire.ts';

const ledgerNames: ReadonlySet<string> = new Set(ledgerCommandNames);

interface Deps {
  clock: Clock;
  storage: Pick<SharedStorage, 'peek'>;
  devices: readonly ShopDevice[];
  trace(line: string): void;
  violated(sentence: string): void;
  /** Whether a person has settled this command as refused without checking. */
  hasGuessed(commandId: string): boolean;
  /** As done, without its numbers: that has ended its document, which the terminal does not know [D308]. */
  wasCalledDone(commandId: string): boolean;
  /** Or its CloseDoc, or its void, as done. */
  wasFollowerCalledDone(paymentId: string): boolean;
}

export function watchWire({ clock, storage, devices, trace, violated, ...operator }: Deps): (passing: Passing) => void {
  const copies = new Map<string, { count: number; deadlines: string }>();
  return ({ kind, channel, deviceId, message }) => {
    const target = devices.find(({ id }) => id === deviceId);
    if (!target) return;
    if (kind === 'answer') return trace(`answer ${channel} from ${target.name}: ${message.id} ${message.outcome}`);
    const { documentNr, receipt, target: about } = message.args as { documentNr?: string; receipt?: { Uid?: string }; target?: string };
    trace(`command ${channel} to ${target.name}: ${message.id} ${message.name} ${documentNr ?? receipt?.Uid ?? about ?? ''}`);
    if (!ledgerNames.has(message.name)) return;
    target.lastCommandAtMs = clock.now();
    // By the database's clock, which is the world's: that of the gateway may be wrong.
    const [issued] = storage.peek('select issued_at, answer_by from commands where id = ?', [message.id]);
    const ageMs = clock.now() - Number(issued?.['issued_at'] ?? clock.now());
    if (ageMs > startWithinMs) violated(`${message.name} ${message.id} went to ${target.name} ${ageMs} ms after it was issued`);
    // A gateway cannot know a clock that was set since the device's last message. Without a measurement, the gateway's
    // own clock counts, which may be some seconds off: a person must not be able to decide before the device's time is over [D63].
    const deviceAheadMs = target.device.faults().clockSkewMs;
    const lateMs = Date.parse(message.answerBy ?? '') - deviceAheadMs - Number(issued?.['answer_by']);
    if (lateMs > personDecidesAfterMs && !Number.isFinite(target.clockSetAtMs))
      violated(`${message.name} ${message.id} lets ${target.name} answer ${lateMs} ms later than its row says`);
    const running = target.device
      .journal()
      .unfinished()
      .find((entry) => entry.id !== message.id);
    // Another gateway has asked meanwhile and got "never": the device has written the tombstone, and a later copy has no effect.
    const isTombstone = target.hasJournal && target.device.journal().find(message.id)?.outcome === 'never';
    if (running && !isTombstone)
      violated(`${message.name} ${message.id} went to ${target.name}, which is busy with ${running.name} ${running.id}`);
    const unclosed = message.name === 'Pay' ? openDocumentOn(target, message.id) : undefined;
    // An operator has closed it by hand, or a person has settled it as refused: the terminal's own book does not contain that.
    const byHand = unclosed && storage.peek(`select 1 from audit_log where action = 'document.close' and subject = ?`, [unclosed]);
    // A disputed payment does not lock its terminal [D143].
    const disputed = unclosed && storage.peek('select 1 from commands where id = ? and disputed_from is not null', [unclosed]);
    const isDecided =
      unclosed && [operator.hasGuessed, operator.wasCalledDone, operator.wasFollowerCalledDone].some((was) => was(unclosed));
    if (unclosed && byHand?.length === 0 && disputed?.length === 0 && !isDecided)
      violated(`Pay ${message.id} went to ${target.name}, where Pay ${unclosed} awaits its CloseDoc`);
    const count = (copies.get(message.id)?.count ?? 0) + 1;
    const deadlines = `${message.startBy} to ${message.answerBy}`;
    const first = copies.get(message.id)?.deadlines ?? deadlines;
    if (deadlines !== first) violated(`${message.name} ${message.id} went to ${target.name} for ${first}, and again for ${deadlines}`);
    copies.set(message.id, { count, deadlines: first });
    if (count > 1 && !target.hasJournal) violated(`${message.name} ${message.id} went twice to ${target.name}, which keeps no journal`);
  };
}

/** The newest charge that was neither voided nor closed [D14]. */
function openDocumentOn({ device }: ShopDevice, exceptId: string): string | undefined {
  const last = device.bank.charges().at(-1);
  if (!last || last.isVoided || last.entry.reference === exceptId) return undefined;
  const isClosed = device.bank
    .entries()
    .some(({ kind, originalId }) => kind === 'document-closed' && originalId === last.entry.operationId);
  return isClosed ? undefined : last.entry.reference;
}
