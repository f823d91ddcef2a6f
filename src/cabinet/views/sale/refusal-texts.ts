// The sentences with which the new core refuses a step of a person, as texts of the catalogues: the page says "not possible now" with the very
// sentence of the refused call, in the language of its reader. The English catalogue has these sentences word by word.
import { type Text, text } from '../texts.ts';

/** `{{from}}`: a value that the sentence contains. */
export const refusalSentences: Readonly<Record<string, string>> = {
  notKnown: 'Its outcome is not known yet.',
  notCharged: 'Nothing was charged.',
  noNumbers: 'The bank’s numbers are not known.',
  removed: 'Its details were removed after the retention period.',
  noJournal: 'This device keeps no journal.',
  settled: 'It is settled already.',
  running: 'The device may still carry the command out and report the outcome. Otherwise you can decide it from {{from}} on.',
  disputed: 'Its outcome is disputed, or that of its refund or void. Resolve that first.',
  paymentRemoved: 'The payment was made long ago, and its record has been removed since; nothing more can be done about it here.',
  nothingLeft: 'Nothing is left to refund.',
  refundOfVoided: 'The payment was voided, so there is nothing to refund.',
  dayClosedVoid: 'The bank day of this payment is closed. It can still be voided.',
  dayClosed:
    'The bank day of this payment is closed. A refund of it was made or is under way, so what is left must be returned in another way.',
  voided: 'The payment is voided already.',
  refunded: 'A refund of it was made or is under way, so it can no longer be voided.',
  documentVoided: 'The payment was voided, which ended its document.',
  documentNotOpen: 'The document of this payment is not open.',
  deviceDisabled: 'The device is disabled.',
  deviceOffline: 'The device is offline; nothing was sent.',
  deviceBusy: 'The device is processing another operation.',
  deviceSettling: 'The outcome of an earlier operation on this device is still being settled.',
  awaitsClose: 'An approved payment on this device awaits CloseDoc.',
  underWay:
    'The outcome is not known yet. Ask GET Device/Operation/Status with this OID, which starts nothing, until it is; do not begin another operation instead.',
  notConfirmed:
    'An operator settled an earlier attempt of this operation as not done. The device must first confirm that and has not answered yet, so nothing was sent. Repeat the request.',
  otherHardware:
    'An operator settled an earlier attempt of this operation as not done, and other hardware is connected under this DeviceID since. Only the hardware that got the attempt can confirm it, so nothing was sent. Reconnect that hardware, or let an operator of the gateway declare it lost; on another device the number is free.',
  invoiceEnded: 'The invoice is {{state}}; it can no longer be cancelled.',
  invoiceHasPayment: 'A card payment for it is open or was made; stop or void that first.',
};

const patterns = Object.entries(refusalSentences).map(([key, sentence]) => {
  const escaped = sentence.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&');
  return { key, pattern: new RegExp(`^${escaped.replaceAll(/\{\{(\w+)\}\}/g, '(?<$1>.+)')}$`) };
});

/** A sentence that the catalogues lack is shown as it is. */
export function refusalText(sentence: string): Text {
  for (const { key, pattern } of patterns) {
    const match = pattern.exec(sentence);
    if (match) return text(`whyNot.${key}`, { ...match.groups });
  }
  return text('whyNot.said', { sentence });
}
