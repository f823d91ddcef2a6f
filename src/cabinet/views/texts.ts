// A text for people is a key with parameters; the browser has the words in three languages. Amounts are numbers in lei, times ISO texts,
// durations milliseconds: the browser formats them for its locale.

export interface Text {
  key: string;
  params: Record<string, string | number>;
}

export type Params = Record<string, string | number | null | undefined>;

/** Parameters without a value are left out. Of a person only the name: with the e-mail address, a line of the timeline had no room for what was
 * decided. The audit log has both. */
export function text(key: string, params: Params = {}): Text {
  const kept = Object.entries(params).filter((entry): entry is [string, string | number] => entry[1] !== null && entry[1] !== undefined);
  return { key, params: Object.fromEntries(kept.map(([name, value]) => [name, name === 'actor' ? nameOf(String(value)) : value])) };
}

const nameOf = (actor: string) => actor.replace(/ <[^<>]*>(, operator)?$/, '');
