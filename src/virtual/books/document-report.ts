// The report of a register about a document in its fiscal memory, equal to that of the command that wrote it.
import { baniToLei } from '../../kernel/money.ts';
import type { JsonObject } from '../../link/protocol.ts';
import type { BankEntry } from './bank.ts';
import { describeTotals, type FiscalDocument } from './fiscal-memory.ts';

export function documentReport(document: FiscalDocument, bankEntries: BankEntry[]): JsonObject {
  const { documentNumber } = document;
  const time = new Date(document.atMs).toISOString();
  switch (document.type) {
    case 'receipt': {
      const cards = bankEntries
        .filter((entry) => entry.kind === 'charge')
        .map(({ rrn, authCode, operationId, maskedCard, amountBani }) => ({
          rrn,
          authCode,
          operationId,
          maskedCard,
          amount: baniToLei(amountBani),
        }));
      const { receiptId, fiscalNumber, totalBani, changeBani } = document;
      return {
        receiptId,
        fiscalNumber,
        total: baniToLei(totalBani),
        change: baniToLei(changeBani),
        documentNumber,
        time,
        ...(cards.length > 0 ? { cards } : {}),
      };
    }
    case 'moneyIn':
    case 'moneyOut':
      return { documentNumber, cashInDrawer: baniToLei(document.drawerAfterBani), amount: baniToLei(document.amountBani), time };
    default:
      return {
        number: document.reportNumber,
        type: document.type,
        totals: describeTotals(document.totals, document.drawerBani),
        documentNumber,
        time,
      };
  }
}
