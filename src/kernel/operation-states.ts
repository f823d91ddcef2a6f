// The states of an operation, as every answer about it names them (`State`).

export const operationStates = ['Open', 'Done', 'Closed', 'Voided', 'Refunded', 'Refused', 'Never', 'Disputed'] as const;
export type OperationState = (typeof operationStates)[number];
