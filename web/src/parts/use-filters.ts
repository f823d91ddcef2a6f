// Filters are part of the address, so that a link shows a colleague the same list and Back restores it.
import { useSearchParams } from 'wouter';

export interface Filters {
  get(name: string): string | undefined;
  /** Another choice begins at the first page again. */
  set(changes: Record<string, string | undefined>): void;
  toPage(cursor: string | undefined): void;
  cursor: string | undefined;
  hasAny: boolean;
}

const apart = new Set(['cursor', 'merchant', 'new']);

export function useFilters(): Filters {
  const [params, setParams] = useSearchParams();
  const change = (changes: Record<string, string | undefined>, replace: boolean) =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before);
        for (const [name, value] of Object.entries(changes)) {
          if (value === undefined || value === '') next.delete(name);
          else next.set(name, value);
        }
        return next;
      },
      { replace },
    );
  return {
    get: (name) => params.get(name) ?? undefined,
    set: (changes) => change({ ...changes, cursor: undefined }, true),
    toPage: (cursor) => change({ cursor }, false),
    cursor: params.get('cursor') ?? undefined,
    hasAny: [...params.keys()].some((name) => !apart.has(name)),
  };
}

/** A dialog that creates something. It is in the address, so that the search box opens it on every page, this one included. */
export function useNewDialog(isAllowed: boolean): [isOpen: boolean, setIsOpen: (isOpen: boolean) => void] {
  const filters = useFilters();
  return [isAllowed && filters.get('new') !== undefined, (isOpen) => filters.set({ new: isOpen ? '1' : undefined })];
}
