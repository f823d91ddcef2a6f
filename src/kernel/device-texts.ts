// Bounds of what a device says, before it is stored or quoted [D286]: a message may have a mebibyte, and lists show what is stored of it.

/** Characters of a stored report, as JSON. */
export const maxReportLength = 64 * 1024;
/** The same in a list, or in a step of a timeline. */
export const maxListedReportLength = 2_000;
/** Of a text within a report that is too long. */
const maxTextLength = 1_000;
/** In a sentence for people. */
const maxQuotedLength = 100;

export function shortened(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength).toWellFormed()}…`;
}

/** A value of a report in a sentence. */
export function quoted(value: unknown): string {
  return shortened(JSON.stringify(value) ?? 'nothing', maxQuotedLength);
}

/** The amounts and numbers of a payment or a receipt [D286]. */
const ofMoney: ReadonlySet<string> = new Set([
  'amount',
  'total',
  'rrn',
  'operationId',
  'receiptId',
  'documentNumber',
  'number',
  'maskedCard',
]);

/** A report that is too long loses its largest fields, after long texts are cut; what is of money stays, however many others there are. */
export function boundReport<Report extends Record<string, unknown>>(report: Report, maxLength = maxReportLength): Partial<Report> {
  if (JSON.stringify(report).length <= maxLength) return report;
  const fields = Object.entries(report).map(([name, value]) => {
    const kept = typeof value === 'string' ? shortened(value, Math.min(maxTextLength, maxLength / 4)) : value;
    return { name, kept, length: JSON.stringify({ [name]: kept }).length };
  });
  let room = maxLength;
  const order = ({ name, length }: (typeof fields)[number]) => (ofMoney.has(name) ? 0 : maxLength) + length;
  const smallest = fields.toSorted((one, other) => order(one) - order(other)).filter(({ length }) => (room -= length) >= 0);
  return Object.fromEntries(smallest.map(({ name, kept }) => [name, kept])) as Partial<Report>;
}
