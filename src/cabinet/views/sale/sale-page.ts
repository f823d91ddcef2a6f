// The page of a sale: the facts, the outcome in plain words, the timeline and the next steps, built from pure parts.
import type { Queries } from '../../../database/database.ts';
import { baniToLei } from '../../../kernel/money.ts';
import { operationOf } from '../../../kernel/operations.ts';
import type { CommandEvent } from '../../../ledger/command-event.ts';
import { wasDone } from '../../../ledger/standing.ts';
import { readAttentionAbout } from '../figures/attention.ts';
import { readListed } from '../lists/commands-list.ts';
import { isRefund, ownNumbers } from '../own-numbers.ts';
import type { Scope } from '../scope.ts';
import { readReport } from './command-steps.ts';
import type { CoreView } from './core-view.ts';
import { nextStepsOf } from './next-steps.ts';
import { oldCore } from './old-core.ts';
import { readNamesOfCallers, readSale } from './sale-facts.ts';
import type { Sale, StoryCommand } from './sale-model.ts';
import { adviceOf, hintsOf, marksOf, outcomeOf, printOf } from './sale-outcome.ts';
import { rawOf } from './sale-raw.ts';
import { saleSteps } from './sale-steps.ts';
import { unclearSpans, withLostAnswer } from './sale-unclear.ts';

export type SalePage = NonNullable<Awaited<ReturnType<typeof readSalePage>>>;

export interface PageSources {
  isConnected?: (deviceId: string) => boolean;
  core?: CoreView;
}

export async function readSalePage(
  queries: Queries,
  scope: Scope,
  commandId: string,
  events: readonly CommandEvent[],
  nowMs: number,
  { isConnected = () => true, core = oldCore }: PageSources = {},
) {
  const found = await readSale(queries, scope, commandId, events);
  if (!found) return undefined;
  const { command, followers, linked, payment, invoice } = found;
  const own = { merchantId: command.merchantId };
  const said = await core.read(queries, found, nowMs);
  const related = [command, ...followers, ...linked, ...(payment ? [payment] : [])].map(({ id }) => id);
  const listed = await readListed(queries, own, [...related, ...said.others.map(({ id }) => id)]);
  const row = listed.find(({ id }) => id === command.id);
  if (!row) return undefined;
  const about = { commandIds: [command.id, ...linked.map(({ id }) => id)], oids: invoice ? [invoice.oid] : [] };
  const sale: Sale = {
    ...{ ...found, said, shown: row.shownState },
    isOffline: !isConnected(command.deviceId),
    attention: await readAttentionAbout(queries, own, about, nowMs),
  };
  const keyNames = await readNamesOfCallers(queries, [sale.command.caller]);
  const timeline = saleSteps(sale, keyNames);
  const lost = timeline.find(({ kind }) => kind === 'answerLost');
  const unclear = withLostAnswer(unclearSpans(sale.events, sale.command.settledAtMs), lost?.atMs, sale.command.settledAtMs);
  return {
    sale,
    // The command and all related ones as rows of a list, by id.
    rows: new Map(listed.map((one) => [one.id, one])),
    outcome: outcomeOf(sale, unclear, nowMs),
    advice: adviceOf(sale),
    hints: hintsOf(sale, nowMs),
    marks: marksOf(sale),
    facts: factsOf(sale, keyNames),
    receipt: receiptOf(sale),
    timeline,
    unclear,
    raw: rawOf(sale),
    steps: nextStepsOf(sale),
  };
}

function factsOf(sale: Sale, keyNames: ReadonlyMap<string, string>) {
  const { command } = sale;
  const report = readReport(command.report);
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  return {
    card: text(report['maskedCard']),
    authCode: text(report['authCode']),
    ...(isRefund(command) ? ownNumbers(command) : {}),
    left: operationOf(command.name).isPayment && wasDone(command) ? baniToLei(sale.said.leftBani) : undefined,
    ...(operationOf(command.name).prints && partsOf(command)),
    key: keyNames.get(command.caller?.replace(/^key /, '') ?? ''),
    person: command.caller?.startsWith('person ') ? command.caller.slice('person '.length) : undefined,
    reason: command.reason ?? undefined,
  };
}

/** How a receipt was paid. */
const partsOf = ({ cashBani, cardBani }: StoryCommand) => ({
  cash: cashBani === null ? undefined : baniToLei(cashBani),
  cardPart: cardBani === null ? undefined : baniToLei(cardBani),
});

/** A receipt that was not printed is shown on its own page only. */
function receiptOf(sale: Sale) {
  const print = operationOf(sale.command.name).prints ? sale.command : printOf(sale);
  return print && paperOf(print);
}

function paperOf(print: StoryCommand) {
  const { fiscalNumber } = readReport(print.report);
  return {
    number: print.receiptId ?? undefined,
    fiscalNumber: typeof fiscalNumber === 'string' || typeof fiscalNumber === 'number' ? String(fiscalNumber) : undefined,
    commandId: print.id,
    deviceName: print.deviceName,
    items: itemsOf(print.args['receipt']),
    totalBani: print.amountBani ?? undefined,
  };
}

export function itemsOf(receipt: unknown): { name: string; quantity: number; price: number }[] {
  const items = (receipt as { Items?: unknown } | undefined)?.Items;
  if (!Array.isArray(items)) return [];
  return (items as { Name?: unknown; Quantity?: unknown; Price?: unknown }[]).map(({ Name, Quantity, Price }) => ({
    name: String(Name),
    quantity: Number(Quantity),
    price: Number(Price),
  }));
}
