// Inside a transaction only its own queries may be used: the outer ones would wait for the transaction to end, for ever on one connection.
// This guard turns the mistake into an immediate error on both engines, instead of a hanging gateway.
import { AsyncLocalStorage } from 'node:async_hooks';

interface OpenTransaction {
  isOpen: boolean;
}

export interface TransactionGuard {
  run<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Throws if the caller runs inside an open transaction. */
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
      if (current.getStore()?.isOpen) throw new Error('Inside a transaction, use its own queries, not those of the database.');
    },
  };
}
