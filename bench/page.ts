// docs/benchmarks.md, written from what a run of the bench found.
import { asChart, cells, figure, goalText, headings, isReached, type Row, type Run, ratioOf, rowsOnPostgres } from './report.ts';

const line = (texts: string[]) => `| ${texts.join(' | ')} |`;

function tableOf(rows: Row[]): string {
  const [, ...names] = headings;
  return [line(names), line(names.map(() => '---')), ...rows.map((row) => line(cells(row).slice(1)))].join('\n');
}

function sectionsOf(rows: Row[]): string {
  const groups = [...new Set(rows.map(({ group }) => group))];
  return groups
    .map((group) => `### ${group[0]?.toUpperCase()}${group.slice(1)}\n\n${tableOf(rows.filter((row) => row.group === group))}`)
    .join('\n\n');
}

function missed(rows: Row[]): string {
  const lines = rows
    .filter((row) => isReached(row) === false)
    .map((row) => {
      const reached = row.atMost === undefined ? ratioOf(row)?.toFixed(2) : figure(row.ours, row.unit);
      return `- ${row.group}, ${row.what}: ${reached}, wanted ${goalText(row)}`;
    });
  return lines.length === 0 ? 'Every goal was reached in this run.' : lines.join('\n');
}

const groupsOf = ({ rows }: Run) => [...new Set(rows.map(({ group }) => group))];

/** A run of parts made at another time, perhaps elsewhere, and what it stands for on this page. */
function apart(run: Run, whole: Run): string {
  const { date, commit, machine, loadBefore, minutes, rounds } = run;
  const [where, on] = machine === whole.machine ? ['', ''] : [' on another machine', `${machine}, `];
  return `\n\nFrom a run of its own${where} (${date}, commit ${commit}, ${on}${Math.round(minutes)} minutes, ${rounds} rounds, load ${loadBefore.toFixed(1)}): ${groupsOf(run).join('; ')}.`;
}

/** `parts`: runs with `--only`, whose groups stand in place of the same ones of the whole run. */
export function asMarkdown(whole: Run, parts: readonly Run[] = []): string {
  const { date, commit, machine, loadBefore, minutes, rounds } = whole;
  const measuredApart = new Set(parts.flatMap(groupsOf));
  const rows = [...whole.rows.filter(({ group }) => !measuredApart.has(group)), ...parts.flatMap((part) => part.rows)];
  const isFull = [whole, ...parts].some((run) => run.form === 'full' && groupsOf(run).includes(rowsOnPostgres));
  const forms = isFull ? 'with 10,000,000 stored rows' : 'without 10,000,000 stored rows, which `--full` adds';
  return `# Benchmarks

Written by \`npm run bench\` from what it measured; change nothing here by hand. ${date}, commit ${commit}, ${machine}; ${Math.round(minutes)} minutes, ${rounds} rounds of each work, ${forms}. The machine's load before it began was ${loadBefore.toFixed(1)}.${parts.map((part) => apart(part, whole)).join('')}

## How to read it

Everything runs on one machine: gateway, database, broker, devices and callers share its cores, so the figures are no promise for yours and only the ratios mean something. The contenders of a table take turns in one run, after a warm-up that does not count, and each figure is the median of its rounds. A ratio above 1 is in Tillgate's favour. Tillgate runs as \`npm pack\` makes it and tells Node what it tells it in shops (D124, D135), the peer as its own build does, on Node as it comes.

- **peer**: a plain NestJS gateway with TypeORM ([its code](../bench/peers/nest-gateway.ts)): a look-up of the key, one insert and one update a command, and none of the promises that Tillgate makes. For callbacks it is a job queue, tuned, whose jobs are one GET each. Under growth it is Tillgate itself, at its smallest.
- **raw parts**: what the work goes through, each part by itself and with no gateway: a route of Fastify that does nothing, a round trip through a broker (Mosquitto, also beside the embedded broker), the bare statements, each its own commit, on PostgreSQL or SQLite. *Of them* is how much of their speed is left when they are used one after the other. It is a yardstick and no limit: calls that come together share a commit, bare statements do not.
- **commands** are Pay and CloseDoc by turns, each with all that the ledger commits, answered by devices that approve at once; **invoices** are Create, Status, Get and Payd of one invoice after the other.
- **processor time** is what the gateway's process used for a call. It is the steadiest figure on a machine that others use as well.
- **growth**: a goal of 0.77 means at most 1.3 times slower than the smallest. Two gateways can carry more than one only where cores are free: here gateways, PostgreSQL, broker, devices and callers share the cores named above, so their table shows what a second gateway costs for each command, not what it adds.

\`npm run bench -- --help\` tells how to run parts of it. CI runs \`--quick --no-peers --only commands,invoices --check\`: it fails when a call costs more than three times the processor time, beside that of a bare route, [that was recorded](../bench/recorded.json).

## What is not reached

${missed(rows)}

Why: with one call in flight a command waits for two commits, the broker and the device one after the other; the table of one Pay below shows how long. The peer writes one row of one table per commit and looks up its key; Tillgate's two commits also take and release the device's lock, the number, the key, the bank's number and the record of the settlement, which is what its promises rest on. Reaching the peer there would take half of the gateway's and half of PostgreSQL's time.

## Figures

${sectionsOf(rows)}

## Ratios

Where the peer stands is marked by \`|\`:

\`\`\`
${asChart(rows)}
\`\`\`
`;
}
