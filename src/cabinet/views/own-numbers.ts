// The bank's numbers of an operation as pages show them. The row of a refund has the numbers of its payment, by which its terminal finds the
// payment; its own are in its report.
import { type OperationName, operationOf } from '../../kernel/operations.ts';

export interface NumberedRow {
  name: OperationName;
  rrn: string | null;
  operationId: string | null;
  report: string | null;
}

export function isRefund({ name }: Pick<NumberedRow, 'name'>): boolean {
  return operationOf(name).effect === 'refund';
}

export function ownNumbers(row: NumberedRow): { rrn: string | undefined; operationId: string | undefined } {
  const { rrn, operationId } = isRefund(row) ? (JSON.parse(row.report ?? '{}') as Record<string, unknown>) : row;
  return { rrn: textIn(rrn), operationId: textIn(operationId) };
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
