// A list that does not move while it is read: rows change in place, new rows wait until they are requested.
import { useState } from 'react';

interface Steady<Row> {
  rows: readonly Row[];
  newCount: number;
  showNew: () => void;
}

/** `scope` names the list: with another filter or page everything is shown at once. `isFirstPage`: only there new rows can appear. */
export function useSteadyRows<Row extends { id: string }>(
  scope: string,
  fresh: readonly Row[] | undefined,
  isFirstPage: boolean,
): Steady<Row> {
  const [kept, setKept] = useState<{ scope: string; shown: readonly Row[] }>({ scope: '', shown: [] });
  const show = () => setKept({ scope, shown: fresh ?? [] });
  const isOther = kept.scope !== scope || (kept.shown.length === 0 && (fresh?.length ?? 0) > 0);
  if (fresh !== undefined && isOther) show();
  if (fresh === undefined || isOther || !isFirstPage) return { rows: fresh ?? [], newCount: 0, showNew: show };
  const byId = new Map(fresh.map((row) => [row.id, row]));
  const known = new Set(kept.shown.map(({ id }) => id));
  return {
    // Rows pushed off the page by new ones stay as they were.
    rows: kept.shown.map((row) => byId.get(row.id) ?? row),
    newCount: fresh.filter(({ id }) => !known.has(id)).length,
    showNew: show,
  };
}
