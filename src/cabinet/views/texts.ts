// What people read comes as a key and its parameters, and the browser has the words in three languages. Amounts are numbers in lei,
// moments ISO texts, spans milliseconds: the browser writes them as its reader is used to.

export interface Text {
  key: string;
  params: Record<string, string | number>;
}

type Param = string | number | null | undefined;

/** Parameters without a value are left out. */
export function text(key: string, params: Record<string, Param> = {}): Text {
  const kept = Object.entries(params).filter((entry): entry is [string, string | number] => entry[1] !== null && entry[1] !== undefined);
  return { key, params: Object.fromEntries(kept) };
}
