// Reads by path and query. TanStack Query caches them under both, so that a hint from the event stream finds the affected reads.
import { keepPreviousData, QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { ApiError, type CallOptions, call, type Method, type Query } from './client.ts';
import { type Paged, readUntilFound } from './follow.ts';

export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        gcTime: 10 * 60_000,
        // A retry helps after a lost connection, not after an answer.
        retry: (failures, error) => !(error instanceof ApiError) && failures < 3,
        refetchOnWindowFocus: true,
      },
    },
  });
}

export interface ReadOptions {
  isEnabled?: boolean;
  /** The previous rows stay until the new ones have arrived. */
  keepsPrevious?: boolean;
  everyMs?: number | undefined;
}

/** A page of a list. Pages without a match are skipped. */
export function useListRead<Fields extends Paged>(path: string, query: Query, isEmpty: (fields: Fields) => boolean) {
  return useQuery<Fields>({
    queryKey: [path, query],
    queryFn: ({ signal }) => {
      const read = (cursor: string | undefined) => call<Fields>('GET', path, { query: { ...query, cursor }, signal });
      return readUntilFound(read, isEmpty, query['cursor'] === undefined ? undefined : String(query['cursor']));
    },
    placeholderData: keepPreviousData,
  });
}

export function useRead<Fields>(path: string, query: Query = {}, options: ReadOptions = {}) {
  return useQuery<Fields>({
    queryKey: [path, query],
    queryFn: ({ signal }) => call<Fields>('GET', path, { query, signal }),
    enabled: options.isEnabled ?? true,
    ...(options.keepsPrevious ? { placeholderData: keepPreviousData } : {}),
    ...(options.everyMs === undefined ? {} : { refetchInterval: options.everyMs }),
  });
}

export interface Change {
  method?: Method;
  path: string;
  body?: object | undefined;
  headers?: Record<string, string> | undefined;
}

/** A change; afterwards everything whose path begins with one of `refreshes` is read again. */
export function useChange<Fields = object>(refreshes: readonly string[], onDone?: (fields: Fields) => void) {
  const client = useQueryClient();
  return useMutation<Fields, Error, Change>({
    mutationFn: ({ method = 'POST', path, body, headers }) => {
      const options: CallOptions = { body, headers };
      return call<Fields>(method, path, options);
    },
    onSuccess: (fields) => onDone?.(fields),
    // Also after a failure: the change may have been made all the same.
    onSettled: () => refresh(client, refreshes),
  });
}

export function refresh(client: QueryClient, prefixes: readonly string[]): Promise<void> {
  return client.invalidateQueries({
    predicate: ({ queryKey }) => typeof queryKey[0] === 'string' && prefixes.some((prefix) => String(queryKey[0]).startsWith(prefix)),
  });
}
