// Inside a transaction only its own queries may be used: the outer ones would wait for the transaction to end, for ever on one connection.
// This guard turns the mistake into an immediate error on both engines, instead of a hanging gateway.
import { AsyncLocalStorage } from 'node:async_hooks';

export type TransactionGuard = ReturnType<typeof createTransactionGuard>;

export function createTransactionGuard() {
  const current = new AsyncLocalStorage<{ isOpen: boolean }>();
  return {
    run<Result>(work: () => Promise<Result>): Promise<Result> {
      const transaction = { isOpen: true };
      return current.run(transaction, async () => {
        try {
          return await work();
        } finally {
          transaction.isOpen = false;
        }
      });
    },
    /** Throws if the caller runs inside an open transaction. */
    checkOutside(): void {
      if (current.getStore()?.isOpen) throw new Error('Inside a transaction, use its own queries, not those of the database.');
    },
  };
}
