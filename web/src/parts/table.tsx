// A plain table for settings (keys, users, merchants) rather than records: few rows, a menu at the end. On phones each row becomes a small card.
import type { ReactNode } from 'react';
import { ListScroll } from './list-scroll.tsx';

export interface Column<Row> {
  head: string;
  cell: (row: Row) => ReactNode;
  className?: string;
}

interface TableProps<Row> {
  columns: Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  label: string;
  isChosen?: (row: Row) => boolean;
  onOpen?: (row: Row) => void;
}

export function Table<Row>({ columns, rows, keyOf, label, isChosen, onOpen }: TableProps<Row>) {
  return (
    <div className="card list-card">
      <ListScroll label={label}>
        <table className="list stacks" aria-label={label}>
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column.head} scope="col" className={column.className}>
                  {column.head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr
                key={keyOf(row)}
                className={`${onOpen ? 'row-link' : ''}${isChosen?.(row) ? ' chosen' : ''}`}
                onClick={onOpen && (() => onOpen(row))}
              >
                {columns.map((column) => (
                  <td key={column.head} className={column.className} data-label={column.head}>
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ListScroll>
    </div>
  );
}
