// Printouts: text in the width of a paper roll, and the same as an SVG picture, with a verification QR under a fiscal receipt.
import encodeQr from 'qr';
import { formatLei } from '../../kernel/money.ts';
import type { JsonObject } from '../../link/protocol.ts';
import type { ReceiptDocument, ReportDocument } from '../books/fiscal-memory.ts';
import type { PricedReceipt } from '../books/receipt.ts';
import type { Printout } from './screen.ts';

/** Characters in a line of a 58 mm roll. */
const width = 32;
const lineHeight = 18;
const charWidth = 9;
const margin = 16;

export interface Shop {
  name: string;
  deviceId: string;
}

function centre(text: string): string {
  return text.length >= width ? text : ' '.repeat(Math.floor((width - text.length) / 2)) + text;
}

/** Left and right on one line, or on two if they do not fit. */
function spread(left: string, right: string): string[] {
  if (left.length + right.length < width) return [left + ' '.repeat(width - left.length - right.length) + right];
  return [...wrap(left), right.padStart(width)];
}

function wrap(text: string): string[] {
  return text.match(new RegExp(`.{1,${width}}`, 'gu')) ?? [''];
}

const rule = '-'.repeat(width);

function timeText(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 19).replace('T', ' ');
}

export function slip(bankName: string, title: string, report: JsonObject): Printout {
  const rows = Object.entries(report).filter(([, value]) => typeof value === 'string' || typeof value === 'number');
  const lines = [centre(bankName), centre(title), rule, ...rows.flatMap(([name, value]) => spread(name, String(value)))];
  return { kind: 'slip', text: lines.join('\n') };
}

/** Content of the QR: enough to find the receipt and to verify its total. */
export function verificationText(shop: Shop, document: ReceiptDocument): string {
  const query = new URLSearchParams({
    device: shop.deviceId,
    receipt: document.fiscalNumber,
    total: formatLei(document.totalBani),
    time: new Date(document.atMs).toISOString(),
  });
  return `https://receipts.example/verify?${query.toString()}`;
}

export function receiptPaper(shop: Shop, receipt: PricedReceipt, document: ReceiptDocument): Printout {
  const lines = [
    ...wrap(shop.name).map(centre),
    centre('BON FISCAL'),
    rule,
    ...receipt.lines.flatMap((line) => [
      ...wrap(line.name),
      ...spread(`  ${line.quantity} x ${line.price}`, `${formatLei(line.totalBani)} ${line.vatLetter}`),
    ]),
    rule,
    ...spread('TOTAL MDL', formatLei(document.totalBani)),
    ...Object.entries(document.byVat).flatMap(([letter, total]) => spread(`VAT ${letter}`, formatLei(total.vatBani))),
    ...receipt.payments.flatMap(({ kind, amountBani, paidRrn }) => [
      ...spread(kind.toUpperCase(), formatLei(amountBani)),
      ...(paidRrn === undefined ? [] : spread('  paid on a terminal, RRN', paidRrn)),
    ]),
    ...(document.changeBani > 0 ? spread('CHANGE', formatLei(document.changeBani)) : []),
    rule,
    ...spread('Receipt', document.fiscalNumber),
    ...spread('Document', String(document.documentNumber)),
    ...(receipt.number === '' ? [] : spread('Invoice', receipt.number)),
    ...spread('Time', timeText(document.atMs)),
  ];
  const svg = drawPaper(lines, verificationText(shop, document));
  return { kind: 'receipt', number: document.fiscalNumber, text: lines.join('\n'), svg };
}

export function reportPaper(shop: Shop, document: ReportDocument): Printout {
  const { totals, drawerBani } = document;
  const lines = [
    ...wrap(shop.name).map(centre),
    centre(`${document.type} REPORT ${document.reportNumber}`),
    rule,
    ...spread('Receipts', String(totals.receipts)),
    ...spread('TOTAL MDL', formatLei(totals.totalBani)),
    ...Object.entries(totals.byVat).flatMap(([letter, total]) => [
      ...spread(`Sales ${letter}`, formatLei(total.grossBani)),
      ...spread(`VAT ${letter}`, formatLei(total.vatBani)),
    ]),
    rule,
    ...Object.entries(totals.byPayment).flatMap(([kind, amountBani]) => spread(kind.toUpperCase(), formatLei(amountBani))),
    ...spread('Money in', formatLei(totals.moneyInBani)),
    ...spread('Money out', formatLei(totals.moneyOutBani)),
    ...spread('Cash in drawer', formatLei(drawerBani)),
    rule,
    ...spread('Document', String(document.documentNumber)),
    ...spread('Time', timeText(document.atMs)),
  ];
  return { kind: document.type, number: String(document.reportNumber), text: lines.join('\n'), svg: drawPaper(lines) };
}

function escapeXml(text: string): string {
  // Control characters are not allowed in XML at all.
  return text
    .replace(/\p{Cc}/gu, ' ')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** A strip of white paper with a torn lower edge. */
export function drawPaper(lines: readonly string[], qrText?: string): string {
  const paperWidth = width * charWidth + margin * 2;
  const textHeight = lines.length * lineHeight + margin * 2;
  const qr = qrText === undefined ? undefined : drawQr(qrText, paperWidth, textHeight);
  const height = textHeight + (qr ? qr.height + margin : 0);
  const teeth = Array.from(
    { length: Math.ceil(paperWidth / 8) },
    (_, tooth) => `L${paperWidth - tooth * 8 - 4} ${height + 6}L${Math.max(0, paperWidth - tooth * 8 - 8)} ${height}`,
  );
  const rows = lines.map(
    (line, row) =>
      `<text x="${margin}" y="${margin + (row + 1) * lineHeight - 4}" xml:space="preserve" textLength="${line.length * charWidth}">${escapeXml(line)}</text>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${paperWidth}" height="${height + 8}" viewBox="0 0 ${paperWidth} ${height + 8}" font-family="monospace" font-size="15" fill="#222">`,
    `<path d="M0 0H${paperWidth}V${height}${teeth.join('')}Z" fill="#fffdf6" stroke="#ddd"/>`,
    ...rows,
    qr?.path ?? '',
    '</svg>',
  ].join('');
}

function drawQr(text: string, paperWidth: number, top: number): { path: string; height: number } {
  const matrix = encodeQr(text, 'raw', { ecc: 'medium', border: 4 });
  const cell = Math.max(2, Math.floor((paperWidth * 0.6) / matrix.length));
  const left = Math.floor((paperWidth - cell * matrix.length) / 2);
  const cells = matrix.flatMap((row, y) =>
    row.flatMap((isDark, x) => (isDark ? [`M${left + x * cell} ${top + y * cell}h${cell}v${cell}h-${cell}z`] : [])),
  );
  return { path: `<path d="${cells.join('')}" fill="#000"/>`, height: cell * matrix.length };
}
