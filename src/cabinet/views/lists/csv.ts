// CSV for spreadsheets (RFC 4180). A cell that a spreadsheet would read as a formula gets a leading apostrophe: a document number like
// =HYPERLINK(...) comes from outside and must stay text. A spreadsheet with Romanian or Russian settings splits at ";" instead of ",", and reads
// a quote in the middle of a cell as a plain character. So every text with ";" is quoted, and a formula after ";" or a line break gets an
// apostrophe as well.

export type Cell = string | number | null | undefined;

export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

/** The beginning of a possible cell, also after blanks and quotes, and with full-width characters. */
const formula = /(^|[;\r\n])(["'\s]*[=+\-@\uff0b\uff0d\uff1d\uff20]|\t)/g;

function csvCell(cell: Cell): string {
  if (cell === null || cell === undefined) return '';
  // Numbers come from the gateway: a negative amount is not a formula.
  if (typeof cell === 'number') return String(cell);
  const text = cell.replace(formula, "$1'$2");
  return /[",;\t\r\n']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The text begins with a byte order mark, by which spreadsheets detect UTF-8. */
export const csvType = 'text/csv; charset=utf-8';
export const csvStart = '\uFEFF';
