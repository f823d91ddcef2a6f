// Inside a transaction only the queries handed in may be used: the outer ones would wait for the transaction to end, forever on one connection.
// The mistake is made an error at once, on both engines, instead of a gateway that hangs.
import { AsyncLocalStorage } from 'node:async_hooks';

interface OpenTransaction {
  isOpen: boolean;
}

export interface TransactionGuard {
  run<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Throws when the caller runs inside a transaction that is still open. */
  checkOutside(): void;
}

export function createTransactionGuard(): TransactionGuard {
  const current = new AsyncLocalStorage<OpenTransaction>();
  return {
    run(work) {
      const transaction = { isOpen: true };
      return current.run(transaction, async () => {
        try {
          return await work();
        } finally {
          transaction.isOpen = false;
        }
      });
    },
    checkOutside() {
      if (current.getStore()?.isOpen) throw new Error('Inside a transaction, use the queries that it handed in, not the database.');
    },
  };
}
