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
import { leftBaniOf, nextStepsOf } from './next-steps.ts';
import { readNamesOfCallers, readSale } from './sale-facts.ts';
import type { Sale, StoryCommand } from './sale-model.ts';
import { adviceOf, hintsOf, marksOf, outcomeOf, printOf } from './sale-outcome.ts';
import { rawOf } from './sale-raw.ts';
import { saleSteps } from './sale-steps.ts';
import { unclearSpans, withLostAnswer } from './sale-unclear.ts';

export type SalePage = NonNullable<Awaited<ReturnType<typeof readSalePage>>>;

export async function readSalePage(
  queries: Queries,
  scope: Scope,
  commandId: string,
  events: readonly CommandEvent[],
  nowMs: number,
  isConnected: (deviceId: string) => boolean = () => true,
) {
  const found = await readSale(queries, scope, commandId, events);
  if (!found) return undefined;
  const { command, followers, linked, payment, invoice } = found;
  const own = { merchantId: command.merchantId };
  const related = [command, ...followers, ...linked, ...(payment ? [payment] : [])];
  const listed = await readListed(
    queries,
    own,
    related.map(({ id }) => id),
  );
  const about = { commandIds: [command.id, ...linked.map(({ id }) => id)], oids: invoice ? [invoice.oid] : [] };
  const sale: Sale = {
    ...found,
    isOffline: !isConnected(command.deviceId),
    isOutOfContact: listed.find(({ id }) => id === command.id)?.isOutOfContact === true,
    attention: await readAttentionAbout(queries, own, about, nowMs),
  };
  const keyNames = await readNamesOfCallers(queries, [sale.command.caller]);
  const timeline = saleSteps(sale, keyNames);
  const lost = timeline.find(({ kind }) => kind === 'answerLost');
  const unclear = withLostAnswer(unclearSpans(sale.events, sale.command.settledAtMs), lost?.atMs, sale.command.settledAtMs);
  return {
    sale,
    // The command and all related ones as rows of a list, by id.
    rows: new Map(listed.map((row) => [row.id, row])),
    outcome: outcomeOf(sale, unclear, nowMs),
    advice: adviceOf(sale),
    hints: hintsOf(sale, nowMs),
    marks: marksOf(sale),
    facts: factsOf(sale, keyNames),
    receipt: receiptOf(sale),
    timeline,
    unclear,
    raw: rawOf(sale),
    steps: nextStepsOf(sale, nowMs),
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
    left: operationOf(command.name).isPayment && wasDone(command) ? baniToLei(leftBaniOf(sale)) : undefined,
    cash: command.cashBani === null ? undefined : baniToLei(command.cashBani),
    cardPart: command.cardBani === null ? undefined : baniToLei(command.cardBani),
    key: keyNames.get(command.caller?.replace(/^key /, '') ?? ''),
    person: command.caller?.startsWith('person ') ? command.caller.slice('person '.length) : undefined,
    reason: command.reason ?? undefined,
  };
}

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
