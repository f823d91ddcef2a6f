// The report of a run: lines during the run, a text at its end, and a self-contained page to send on. Pure.
import type { Finding, RunReport, Verdict } from './run.ts';

const words: Record<Verdict, string> = { holds: 'holds', broken: 'BROKEN', untested: 'untested' };

/** The path of the protocol page. */
const page = 'docs/device-protocol.md';

export function progressLine(finding: Finding): string {
  const { verdict, id, why } = finding;
  return `  ${words[verdict].padEnd(8)}  ${id}${why === undefined ? '' : `: ${indented(why)}`}`;
}

/** Parts come from the device: no further line looks like one of the report. */
const indented = (text: string) => text.replaceAll('\n', '\n            ');

export function countVerdicts({ findings }: RunReport): Record<Verdict, number> {
  const count = (wanted: Verdict) => findings.filter(({ verdict }) => verdict === wanted).length;
  return { holds: count('holds'), broken: count('broken'), untested: count('untested') };
}

/** The operations and charges of the run; shown before it. */
export function announcement(kind: string, amountLei: number): string {
  const amount = `${amountLei.toFixed(2)} MDL`;
  return kind === 'terminal'
    ? `The run charges ${amount} three times (twice if the terminal cannot be restarted), voids one or two of these payments and refunds the rest. It begins nine more payments of ${amount} for which no card should be presented; if one is charged nevertheless, it is refunded as well. It closes the bank day twice.`
    : `The run puts ${amount} into the drawer and takes it out again, prints one receipt over ${amount} paid in cash and, on a register with the feature "paid", one that was paid on a terminal, and makes X reports. It begins nine receipts over ${amount} paid by card, for which no card should be presented; if one is charged nevertheless, refund it by hand.`;
}

export function textReport(report: RunReport): string {
  const { holds, broken, untested } = countVerdicts(report);
  const details = report.findings
    .filter(({ verdict }) => verdict === 'broken')
    .flatMap(({ id, place, anchor, clause, does, mustSee, seen, why }) => [
      '',
      `${id}: ${indented(why ?? '')}`,
      `  clause    ${place}: "${clause}" (${page}#${anchor})`,
      `  done      ${does}`,
      `  expected  ${mustSee}`,
      ...seen.map((line) => `  seen      ${indented(line)}`),
    ]);
  return [
    `${report.kind} ${report.deviceId}${report.firmware === undefined ? '' : `, ${indented(report.firmware)}`}, on ${report.channels.join(' and ') || 'no channel'}`,
    `${holds} clauses hold, ${broken} are broken, ${untested} could not be tested.`,
    moneyLine(report),
    ...details,
  ].join('\n');
}

function moneyLine({ kind, charged: { payments, refunds, unclear, amount } }: RunReport): string {
  const left = payments - refunds;
  const total =
    kind === 'terminal'
      ? `${payments} payments of ${amount.toFixed(2)} MDL were made and ${refunds} refunded or voided.`
      : `${payments} receipts of ${amount.toFixed(2)} MDL were paid by card.`;
  return [
    total,
    ...(left === 0 ? [] : [`Refund ${(left * amount).toFixed(2)} MDL by hand.`]),
    ...(unclear === 0 ? [] : [`The device did not report the ending of ${unclear} more: ask the bank.`]),
  ].join(' ');
}

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escape = (text: string) => text.replaceAll(/[&<>"]/g, (letter) => escapes[letter] ?? letter);

/** One file without scripts or external resources. */
export function htmlReport(report: RunReport, at: string): string {
  const { holds, broken, untested } = countVerdicts(report);
  const rows = report.findings.map(({ verdict, id, place, clause, does, mustSee, seen, why }) =>
    [
      `<tr class="${verdict}"><td>${words[verdict]}</td><td><b>${escape(id)}</b><br>${escape(place)}: “${escape(clause)}”</td>`,
      `<td>${escape(does)}<br><i>${escape(mustSee)}</i></td>`,
      `<td>${why === undefined ? '' : `<b>${escape(why)}</b><br>`}${seen.map(escape).join('<br>')}</td></tr>`,
    ].join(''),
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Conformance of ${escape(report.deviceId)}</title>
<style>body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem}table{border-collapse:collapse;width:100%}
td,th{border-top:1px solid #ccc;padding:.5rem;text-align:left;vertical-align:top;overflow-wrap:anywhere}.broken td:first-child{color:#b00020;font-weight:bold}
.holds td:first-child{color:#00642e}.untested{color:#666}</style></head><body>
<h1>Conformance run</h1>
<p>${escape(report.kind)} ${escape(report.deviceId)}${report.firmware === undefined ? '' : `, ${escape(report.firmware)}`}, on ${escape(report.channels.join(' and ') || 'no channel')}, ${escape(at)}</p>
<p><b>${holds}</b> clauses hold, <b>${broken}</b> are broken, <b>${untested}</b> could not be tested. ${escape(moneyLine(report))}</p>
<table><tr><th></th><th>Clause</th><th>What was done, what must be seen</th><th>What was seen</th></tr>
${rows.join('\n')}
</table></body></html>
`;
}
