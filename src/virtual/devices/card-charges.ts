// The card payments of a receipt at the bank: all of them are charged, or none stays charged. Charging and recovery use the bank's book, under
// the command's id, so that a power cut between two charges loses neither.
import type { Bank, BankEntry } from '../books/bank.ts';
import type { PricedReceipt } from '../books/receipt.ts';
import { type Ending, refused } from '../client/device-work.ts';
import type { Task } from '../client/task.ts';
import type { Faults } from '../mishaps/mishaps.ts';

export function createCardCharges({ bank, bankMs }: { bank: Bank; bankMs: number }) {
  /** Undefined if all are charged; otherwise the ending with the reason why none is. */
  async function charge(task: Task, receipt: PricedReceipt, faults: Faults): Promise<Ending | undefined> {
    const no = faults.has('wrong-pin') ? 'Wrong PIN, three times.' : faults.has('declined') ? 'The bank declined the card.' : undefined;
    for (const payment of cardsOf(receipt)) {
      await task.sleep(bankMs);
      const request = { reference: task.id, amountBani: payment.amountBani };
      if (no !== undefined) {
        await bank.decline({ ...request, reason: no });
        return await reverse(task.id, no);
      }
      await bank.charge({ ...request, documentNr: receipt.uid === '' ? undefined : receipt.uid });
    }
    return undefined;
  }

  function standing(reference: string): BankEntry[] {
    return bank
      .charges()
      .filter(({ entry, isVoided }) => entry.reference === reference && !isVoided)
      .map(({ entry }) => entry);
  }

  /** Whether every card payment of the receipt is charged at the bank. */
  function areAllStanding(reference: string, receipt: PricedReceipt): boolean {
    const count = standing(reference).length;
    return count > 0 && count === cardsOf(receipt).length;
  }

  async function reverse(reference: string, reason: string): Promise<Ending> {
    for (const { operationId, amountBani } of standing(reference)) {
      const answer = await bank.void({ reference, operationId, token: undefined, amountBani });
      if (!answer.entry) return { outcome: 'unknown', reason: `The bank refuses to reverse the payment: ${answer.refused}` };
    }
    return refused(reason);
  }

  return { charge, areAllStanding, reverse };
}

/** Payments that this register must charge; payments made on a terminal are only printed. */
export function cardsOf(receipt: PricedReceipt): PricedReceipt['payments'] {
  return receipt.payments.filter((payment) => payment.kind === 'card' && payment.paidRrn === undefined);
}
