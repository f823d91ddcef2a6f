// CSV as spreadsheets read it (RFC 4180). A cell that a spreadsheet would take for a formula is made text by a leading apostrophe:
// a document number like =HYPERLINK(...) comes from outside and must stay a document number.

export type Cell = string | number | null | undefined;

export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

function csvCell(cell: Cell): string {
  if (cell === null || cell === undefined) return '';
  // Numbers are ours: a negative amount is an amount.
  if (typeof cell === 'number') return String(cell);
  const text = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** With the mark by which spreadsheets know UTF-8. */
export const csvType = 'text/csv; charset=utf-8';
export const csvStart = '\uFEFF';
