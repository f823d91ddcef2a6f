// A catalogue with one more operation, for tests: imported before the rooms, which read it when they are loaded.
import { operationNames, operations } from '../../src/kernel/operations.ts';

const preAuth = { ...operations.Pay, answerWithinMs: 90_000 };
Object.assign(operations, { PreAuth: preAuth });
(operationNames as string[]).push('PreAuth');

/** To the compiler it is a Pay. */
export const preAuthName = 'PreAuth' as 'Pay';
