// CSV as spreadsheets read it (RFC 4180). A cell that a spreadsheet would take for a formula is made text by a leading apostrophe:
// a document number like =HYPERLINK(...) comes from outside and must stay a document number. A spreadsheet with Romanian or Russian settings
// splits at ";" instead of ",", and sees a quote in the middle of such a cell as a plain sign: every text with ";" is quoted, and what would be
// a formula behind ";" or in a new line is made text as well.

export type Cell = string | number | null | undefined;

export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

/** At the beginning of what a reader may take for a cell, also after blanks and quotes, and in their full width. */
const formula = /(^|[;\r\n])(["'\s]*[=+\-@\uff0b\uff0d\uff1d\uff20]|\t)/g;

function csvCell(cell: Cell): string {
  if (cell === null || cell === undefined) return '';
  // Numbers are ours: a negative amount is an amount.
  if (typeof cell === 'number') return String(cell);
  const text = cell.replace(formula, "$1'$2");
  return /[",;\t\r\n']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** With the mark by which spreadsheets know UTF-8. */
export const csvType = 'text/csv; charset=utf-8';
export const csvStart = '\uFEFF';
