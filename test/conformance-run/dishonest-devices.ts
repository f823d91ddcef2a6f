// Terminals with one mistake each about what comes after a payment, and about what their reports say. Each says which checks must find it.
import type { Fields } from './memory-desk.ts';
import { naming, type PlantedFault } from './planting.ts';

const done = (answer: Fields, report: Fields) => ({ ...answer, outcome: 'done', report, reason: undefined });
const ofName = (wanted: string, change: (answer: Fields, args: Fields) => Fields | undefined) =>
  naming((answer, name, args) => (name === wanted && answer['outcome'] !== 'accepted' ? change(answer, args) : answer));
/** The command never reaches the bank, and is answered as if it had. */
const pretending = (wanted: string, report: (args: Fields) => Fields): PlantedFault['plant'] => {
  return () => {
    const sent = new Map<string, Fields>();
    return {
      command(command) {
        if (command['name'] !== wanted) return command;
        sent.set(command['id'], command['args']);
        return {
          ...command,
          name: 'Refund',
          args: { ...command['args'], operationId: 'nothing', rrn: 'nothing', amount: 1, currency: 'MDL' },
        };
      },
      answer(answer) {
        const args = sent.get(answer['id']);
        return args === undefined || answer['outcome'] === 'accepted' ? answer : done(answer, report(args));
      },
    };
  };
};
const swapped =
  (field: string, value: unknown, wanted = 'Pay'): PlantedFault['plant'] =>
  () =>
    ofName(wanted, (answer) => (answer['outcome'] === 'done' ? { ...answer, report: { ...answer['report'], [field]: value } } : answer));

/** A void that the power cut interrupted ends like this, and Recall says the same. */
const afterPowerCut =
  (outcome: string, { report, isSilentBefore = false }: { report?: Fields; isSilentBefore?: boolean } = {}): PlantedFault['plant'] =>
  () => {
    const boots = new Set<string>();
    const accepted = new Map<string, number>();
    const voids = new Set<string>();
    const recalls = new Map<string, string>();
    const isInterrupted = (id: string | undefined) => id !== undefined && (accepted.get(id) ?? boots.size) < boots.size;
    return {
      presence(presence) {
        boots.add(presence['bootId']);
        return presence;
      },
      command(command) {
        if (command['name'] === 'CancelTransaction') voids.add(command['id']);
        if (command['name'] === 'Recall') recalls.set(command['id'], command['args'].target);
        return command;
      },
      answer(answer) {
        const { id } = answer as { id: string };
        if (voids.has(id) && answer['outcome'] === 'accepted' && !accepted.has(id)) accepted.set(id, boots.size);
        // The first void belongs to another check.
        if (voids.has(id) && answer['outcome'] !== 'accepted' && !isInterrupted(id)) {
          if (isSilentBefore && voids.size > 1) return undefined;
          accepted.delete(id);
        }
        if (isInterrupted(id) && answer['outcome'] !== 'accepted') return { ...answer, outcome, report };
        if (isInterrupted(recalls.get(id))) return { ...answer, report: { state: 'final', outcome, ...(report && { report }) } };
        return answer;
      },
    };
  };

export const dishonestDevices: readonly PlantedFault[] = [
  {
    what: 'knows no CloseDoc',
    foundBy: ['close-doc'],
    plant: () => ofName('CloseDoc', (answer) => ({ ...answer, outcome: 'unsupported', report: undefined })),
  },
  {
    what: 'refuses every CloseDoc',
    foundBy: ['close-doc'],
    plant: () => ofName('CloseDoc', (answer) => ({ ...answer, outcome: 'refused', report: undefined })),
  },
  {
    what: 'swallows CloseDoc',
    foundBy: ['close-doc'],
    plant: () => ({ command: (command) => (command['name'] === 'CloseDoc' ? undefined : command) }),
  },
  {
    what: 'closes documents of operations that do not exist',
    foundBy: ['close-doc-unknown'],
    plant: () => ofName('CloseDoc', (answer) => done(answer, {})),
  },
  {
    what: 'says that it voided, and did not',
    foundBy: ['books-close'],
    plant: pretending('CancelTransaction', ({ operationId, amount }) => ({ operationId, amount })),
  },
  {
    what: 'refuses every void',
    foundBy: ['void'],
    plant: () => ofName('CancelTransaction', (answer) => ({ ...answer, outcome: 'refused', report: undefined })),
  },
  { what: 'reports a void without its operation', foundBy: ['void'], plant: swapped('operationId', undefined, 'CancelTransaction') },
  { what: 'reports a void with the amount as a text', foundBy: ['void'], plant: swapped('amount', '1.00', 'CancelTransaction') },
  {
    what: 'says that it refunded an operation that does not exist',
    foundBy: ['refund-unknown'],
    plant: () =>
      ofName('Refund', (answer, { operationId, amount }) =>
        String(operationId).startsWith('no-') ? done(answer, { rrn: '1', operationId: '1', amount }) : answer,
      ),
  },
  {
    what: 'says that it refunded more than was paid',
    foundBy: ['refund-too-much'],
    plant: () => ofName('Refund', (answer, { amount }) => (amount > 1 ? done(answer, { rrn: '1', operationId: '1', amount }) : answer)),
  },
  {
    what: 'says that it refunded, and did not',
    foundBy: ['books-close'],
    plant: pretending('Refund', ({ amount }) => ({ rrn: '7', operationId: '7', amount })),
  },
  {
    what: 'counts a payment too many in CloseDay',
    foundBy: ['books-close'],
    plant: () => ofName('CloseDay', (answer) => ({ ...answer, report: { ...answer['report'], count: answer['report'].count + 1 } })),
  },
  { what: 'counts nothing in CloseDay', foundBy: ['books-close'], plant: swapped('count', 0, 'CloseDay') },
  { what: 'reports the same rrn for every payment', foundBy: ['own-numbers'], plant: swapped('rrn', '111111111111') },
  {
    what: 'reports the same operationId for every refund and payment',
    foundBy: ['own-numbers'],
    plant: () =>
      naming((answer, name) =>
        (name === 'Refund' || name === 'Pay') && answer['outcome'] === 'done'
          ? { ...answer, report: { ...answer['report'], rrn: '222222222222' } }
          : answer,
      ),
  },
  { what: 'reports a full card number', foundBy: ['no-card-number'], plant: swapped('maskedCard', '4111111111111111') },
  {
    what: 'reports a full card number in a field of its own',
    foundBy: ['no-card-number'],
    plant: swapped('receiptText', 'CARD 4111 1111 1111 1111 APPROVED'),
  },
  {
    what: 'names the full card number in the reason of a refusal',
    foundBy: ['no-card-number'],
    plant: () =>
      ofName('Pay', (answer) =>
        answer['outcome'] === 'refused' ? { ...answer, reason: 'card 4111111111111111 was not presented' } : answer,
      ),
  },
  {
    what: 'reports CloseDoc as the last payment',
    foundBy: ['last-payment'],
    plant: () =>
      ofName('LastTransaction', (answer) => {
        const { lastPayment, ...last } = answer['report'] ?? {};
        return lastPayment === undefined ? answer : { ...answer, report: { ...last, lastPayment: last } };
      }),
  },
  {
    what: 'reports a last payment that was never made',
    foundBy: ['last-payment'],
    plant: ({ random }) =>
      ofName('LastTransaction', (answer) =>
        answer['report']?.lastPayment === undefined
          ? answer
          : { ...answer, report: { ...answer['report'], lastPayment: { ...answer['report'].lastPayment, commandId: random.uuid() } } },
      ),
  },
  {
    what: 'ends unknown what was at the bank in a power cut',
    foundBy: ['restart-at-the-bank', 'ends-known'],
    plant: afterPowerCut('unknown'),
  },
  {
    what: 'says that a void was made which the power cut kept from the bank',
    foundBy: ['books-close'],
    plant: afterPowerCut('done', { report: { operationId: '1', amount: 1 } }),
  },
  {
    what: 'says that a void was refused which the bank made before the power cut',
    foundBy: ['gives-back'],
    plant: (hands) => ({
      ...afterPowerCut('refused', { isSilentBefore: true })(hands),
      device: { timing: { customerMs: 4_000, bankMs: 0 } },
    }),
  },
  { what: 'publishes with the retain flag', foundBy: ['not-retained'], plant: () => ({ retains: true }) },
  { what: 'sends the ending to the first gateway alone', foundBy: ['recaller-gets-the-ending'], plant: () => ({ forgetsRecallers: true }) },
  {
    what: 'ends unknown what it could have looked up',
    foundBy: ['ends-known'],
    plant: () =>
      ofName('Pay', (answer) => (answer['outcome'] === 'refused' ? { ...answer, outcome: 'unknown', report: undefined } : answer)),
  },
];
