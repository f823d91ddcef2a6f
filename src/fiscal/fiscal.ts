// Fiscal Mode: the ledger hooks of register commands, and the four calls as one object.
import type { DeviceAnswer } from '../ledger/answers.ts';
import type { CommandKind } from '../ledger/command-kind.ts';
import { type CashRequest, moveCash } from './cash.ts';
import { completionNotices, receiptIdToFind } from './notices.ts';
import { findOtherPrint, reclaimPaid } from './paid-payments.ts';
import { findPrintOf, type PrintRequest, printReceipt } from './print-receipt.ts';
import type { FiscalDeps } from './register.ts';
import { createReport, type ReportRequest } from './report.ts';

export interface Fiscal {
  cashIn(request: CashRequest): Promise<DeviceAnswer>;
  cashOut(request: CashRequest): Promise<DeviceAnswer>;
  createReport(request: ReportRequest): Promise<DeviceAnswer>;
  printReceipt(request: PrintRequest): Promise<DeviceAnswer>;
}

export function createFiscal(deps: FiscalDeps): Fiscal {
  const notices = completionNotices(deps);
  const print: CommandKind = {
    ...notices,
    extract: receiptIdToFind,
    findHolder: (command) => findPrintOf(deps, command),
    findDouble: findOtherPrint,
    async onExecuted(queries, command) {
      const other = await findOtherPrint(queries, command);
      return other && `A card payment of this receipt is on another one, too (${other}): correct one of them on its register.`;
    },
    onState: {
      ...notices.onState,
      async disputed(queries, command) {
        await reclaimPaid(deps.database, queries, command);
        await notices.onState?.disputed?.(queries, command);
      },
    },
  };
  deps.ledger.define({ MoneyIn: notices, MoneyOut: notices, Report: notices, PrintReceipt: print });
  return {
    cashIn: (request) => moveCash(deps, 'MoneyIn', request),
    cashOut: (request) => moveCash(deps, 'MoneyOut', request),
    createReport: (request) => createReport(deps, request),
    printReceipt: async (request) => printReceipt(deps, request),
  };
}
