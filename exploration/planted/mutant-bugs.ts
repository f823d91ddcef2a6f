// Bugs in the rules, drawn from what Stryker's instrumenter (scripts/mutation, string literals excluded) makes of src/money/rules: 3,072 changes,
// shuffled with the seed 44 (mulberry32, Fisher-Yates); the first of each of the 20 files, then the next ten whatever their file. They are
// kept as data, so that no tool is needed to plant them.
//
// Left out, each for the next one of its file, because they are equivalent or the same as one that was drawn:
//   people: `!op || op.removedAt !== null` becomes false (remove) .... the sweep removes operations that exist and are not removed
//   roots: `one !== null` becomes `one === null` (isSame) ............. a row whose fields are equal is written once more
//   roots: `isCloseDoc(op) && !before` becomes `... && before` ........ an end of a CloseDoc that changes its payment writes that row anyway
//   prints: `sums.cardBani > 0` becomes true ...................... a part of the expression of an earlier one
import type { PlantedBug } from '../../simulation/planted/planted-bug.ts';

const mutant = (name: string, harm: PlantedBug['harm'], find: string, instead: string): PlantedBug => ({
  name,
  kind: 'mutant',
  harm,
  edits: [{ room: 'src/money/rules', find, instead }],
});

export const mutantBugs: readonly PlantedBug[] = [
  mutant(
    'answers: { if (isAbort(op)) return answerOfAbort(c, op, { also, fu...  becomes  {}',
    'lie',
    'also = [] }: Asked = {}): Answer {\n  if (isAbort(op)) return answerOfAbort',
    'also = [] }: Asked = {}): Answer {\n  return undefined as never;\n  if (isAbort(op)) return answerOfAbort',
  ),
  mutant(
    "answers: outcome === 'busy'  becomes  true",
    'lie',
    "  if (outcome === 'busy') return error('Device_Busy', 'The device is busy with another operation; nothing was done.', fields, report);",
    "  if (true) return error('Device_Busy', 'The device is busy with another operation; nothing was done.', fields, report);",
  ),
  mutant(
    "cancel: found && 'op' in found  becomes  found || 'op' in found",
    'lie',
    "  if (found && 'op' in found) return say(answerAbout(c, found.op, { also: othersBeside(c, found.op) }));",
    "  if (found || 'op' in found) return say(answerAbout(c, found.op, { also: othersBeside(c, found.op) }));",
  ),
  mutant(
    'decide: op && answerOfTry(c, op)  becomes  op || answerOfTry(c, op)',
    'lie',
    '  const said = answer ?? (op && answerOfTry(c, op));',
    '  const said = answer ?? (op || answerOfTry(c, op));',
  ),
  mutant(
    'derive-invoices: isUnpaid(invoice) && payments.some(isCertain)  becomes  false',
    'stuck',
    '  invoice.isPaidByCard = isUnpaid(invoice) && payments.some(isCertain);',
    '  invoice.isPaidByCard = false;',
  ),
  mutant(
    'derive: op.deviceId === device.id && !isAbort(op)  becomes  false',
    'stuck',
    '  const here = allOps(c).filter((op) => op.deviceId === device.id && !isAbort(op));',
    '  const here = allOps(c).filter((op) => false);',
  ),
  mutant(
    'derive: isAbort(op)  becomes  true',
    'lie',
    '  for (const op of ops) if (isAbort(op)) deriveAbort(c, op);',
    '  for (const op of ops) if (true) deriveAbort(c, op);',
  ),
  mutant(
    "earlier: op.state === 'sent'  becomes  op.state !== 'sent'",
    'double charge',
    "    if (op.state === 'sent') return undefined;",
    "    if (op.state !== 'sent') return undefined;",
  ),
  mutant(
    "facts: state === 'refused'  becomes  false",
    'double charge',
    "export const isUnexecuted = ({ state }: Pick<Op, 'state'>): boolean => state === 'refused' || state === 'never';",
    "export const isUnexecuted = ({ state }: Pick<Op, 'state'>): boolean => false || state === 'never';",
  ),
  mutant(
    "invoice-rules: payments.length > 0 || movedBy('cancel', invoice) === und...  becomes  false",
    'lost money',
    "  const isRefused = payments.length > 0 || movedBy('cancel', invoice) === undefined || isOverdue(c, invoice);",
    '  const isRefused = false;',
  ),
  mutant(
    "invoice-rules: movedBy('charge', invoice) === undefined || isOverdue(c, ...  becomes  movedBy('charge', invoice) === undefined && isOverdue(c, ...",
    'double charge',
    "  movedBy('charge', invoice) === undefined || isOverdue(c, invoice) ? refusal(c, invoice, 'charge', []) : undefined;",
    "  movedBy('charge', invoice) === undefined && isOverdue(c, invoice) ? refusal(c, invoice, 'charge', []) : undefined;",
  ),
  mutant(
    'invoices: expireIfOverdue(c, invoice)  becomes  false',
    'stuck',
    "  if (expireIfOverdue(c, invoice)) return changedSaying(refusal(c, invoice, 'scan', []));",
    "  if (false) return changedSaying(refusal(c, invoice, 'scan', []));",
  ),
  mutant(
    "named-payment: payment.standing === 'Voided'  becomes  true",
    'lost money',
    "  if (payment.standing === 'Voided') return cannotApply('The payment is voided already.', fieldsOf(payment));",
    "  if (true) return cannotApply('The payment is voided already.', fieldsOf(payment));",
  ),
  mutant(
    'notices: { for (const op of Object.values(c.ops)) { const said = s...  becomes  {}',
    'callback',
    'export function addNotices(facts: Case, c: Draft): void {\n',
    'export function addNotices(facts: Case, c: Draft): void {\n  return;\n',
  ),
  mutant(
    "notices: op.state === 'never' && op.notices === 0  becomes  op.state === 'never' || op.notices === 0",
    'callback',
    "    if (op.state === 'never' && op.notices === 0) continue;",
    "    if (op.state === 'never' || op.notices === 0) continue;",
  ),
  mutant(
    'numbers: op !== about  becomes  op === about',
    'lie',
    '  return { about, also: money.filter((op) => op !== about) };',
    '  return { about, also: money.filter((op) => op === about) };',
  ),
  mutant(
    'payments: amountBani !== (isPayment(about) ? about.amountBani : abo...  becomes  amountBani === (isPayment(about) ? about.amountBani : abo...',
    'lie',
    '  if (amountBani !== (isPayment(about) ? about.amountBani : about.cardBani))',
    '  if (amountBani === (isPayment(about) ? about.amountBani : about.cardBani))',
  ),
  mutant(
    'people: !op || op.removedAt !== null || !isAtRest(op)  becomes  false',
    'lost money',
    '  if (!op || op.removedAt !== null || !isAtRest(op) || isCallbackPending === true) return nothing;',
    '  if (false) return nothing;',
  ),
  mutant(
    'people: allOps(c).filter((op) => op.deviceId === deviceId && op.i...  becomes  allOps(c)',
    'double charge',
    '  const waiting = allOps(c).filter((op) => op.deviceId === deviceId && op.isUnconfirmed);',
    '  const waiting = allOps(c);',
  ),
  mutant(
    'people: c.now < from  becomes  c.now >= from',
    'stuck',
    '  if (!op.isEndedUnknown && c.now < from) {',
    '  if (!op.isEndedUnknown && c.now >= from) {',
  ),
  mutant(
    'prints: sums.cardBani > 0 && !isPaidUnderUid  becomes  true',
    'stuck',
    '  const charged = sums.cardBani > 0 && !isPaidUnderUid ? receiptUid : undefined;',
    '  const charged = true ? receiptUid : undefined;',
  ),
  mutant(
    "prints: payment.standing === 'Voided'  becomes  payment.standing !== 'Voided'",
    'lie',
    "  if (payment.standing === 'Voided') return never(`The card payment of ${place} was voided.`, payment);",
    "  if (payment.standing !== 'Voided') return never(`The card payment of ${place} was voided.`, payment);",
  ),
  mutant(
    'prints: about && !leavesNumberFree(about)  becomes  false',
    'double charge',
    '  if (about && !leavesNumberFree(about)) {',
    '  if (false) {',
  ),
  mutant(
    'remains: warnOfDouble(c, op);  becomes  nothing',
    'lie',
    "    if (op.state === 'disputed') warnOfDouble(c, op);",
    "    if (op.state === 'disputed') ;",
  ),
  mutant(
    'reports: !isPlainText(receiptId)  becomes  isPlainText(receiptId)',
    'lie',
    '    op.receiptId = isLongerThan(receiptId, maxLength.receiptId) || !isPlainText(receiptId) ? null : receiptId;',
    '    op.receiptId = isLongerThan(receiptId, maxLength.receiptId) || isPlainText(receiptId) ? null : receiptId;',
  ),
  mutant('reports: !isOpen(op)  becomes  false', 'lie', '  if (!isOpen(op)) {', '  if (false) {'),
  mutant(
    'roots: differs(before, op).length > 0  becomes  false',
    'double charge',
    "    if (!fields || fields.some((field) => field !== 'attention')) relyOnRootsOf(c, before, op);",
    '    if (!fields || false) relyOnRootsOf(c, before, op);',
  ),
  mutant(
    'roots: before.state !== op.state  becomes  before.state === op.state',
    'double charge',
    '  if (returnsMoney(op)) return before.state !== op.state;',
    '  if (returnsMoney(op)) return before.state === op.state;',
  ),
  mutant(
    'ruled: !presenceOf(c, merchantId, deviceId)?.isOnline  becomes  true',
    'stuck',
    "  if (!presenceOf(c, merchantId, deviceId)?.isOnline) return error('Device_Offline', 'The device is offline; nothing was sent.');",
    "  if (true) return error('Device_Offline', 'The device is offline; nothing was sent.');",
  ),
  mutant(
    'status: !isPayment(op) || op.documentNr === null  becomes  true',
    'double charge',
    '  if (!isPayment(op) || op.documentNr === null) return { about: op, also };',
    '  if (true) return { about: op, also };',
  ),
];
