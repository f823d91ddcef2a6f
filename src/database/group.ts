// Group commit: what arrives while a commit is under way goes into the next one together, so that many callers share one statement, one
// round trip and one sync to disk. No timer: a row that comes alone is committed at once, that is, when what came in with it was read (`soon`).
//
//   const inserts = createGroup({ namesOf, together, alone });
//   const outcome = await inserts.add(row);          resolves after the commit that has this row, with this row's own outcome
//
// Always holds: at most `inFlight` commits of `maxRows` rows and `maxCharacters` (or one row) are under way; no two rows that share a name
// (a device, a number, a key, an id) are under way at once, the second waits for the first; the rows of a commit stand in one fixed order,
// so that two gateways that share rows wait for each other instead of locking each other out; no caller is answered before its commit.
//
// `together` must write all of its rows in one commit or none of them, each guarded by itself, and `alone` must change nothing for a row that
// was written already. What becomes of a batch
//   that certainly failed (a bad row, a lock that did not come free soon) ... every row by itself, by `alone`: one bad row harms no other;
//                                                                             one that the database ends for another's sake goes again
//   whose commit is unclear (the database went away, the answer got lost) ... every caller gets that error, and reads its own row back
//   when the process dies ................................................... before the commit none of it is there, after it all of it is;
//                                                                             no caller was answered, as with a statement of its own
// Rows by themselves take no place of a batch: one that waits for a lock keeps only those that share a name with it.
import { isCertainlyUndone } from './errors.ts';
import { untilNotLost } from './until-not-lost.ts';

export interface Group<Row, Outcome> {
  add(row: Row): Promise<Outcome>;
  /** Rows that are not in a commit yet. */
  readonly waiting: number;
}

export interface GroupOptions<Row, Outcome> {
  /** What the row must not share with another one that is under way; the first of them also gives the order. */
  namesOf(row: Row): readonly string[];
  /** One commit for all. The outcomes come in the order of the rows. */
  together(rows: readonly Row[]): Promise<readonly Outcome[]>;
  /** The same for one row, with all the time that a statement has. */
  alone(row: Row): Promise<Outcome>;
  /** How long its texts are; absent: not worth counting. */
  sizeOf?: (row: Row) => number;
  maxRows?: number;
  maxCharacters?: number;
  inFlight?: number;
  /** Rows that may wait; over that they go by themselves. */
  maxWaiting?: number;
  /** Begins a commit when what arrived in the same moment has been added too, so that the first of many does not go alone. Absent: at once. */
  soon?: (begin: () => void) => void;
}

interface Entry<Row, Outcome> {
  row: Row;
  names: readonly string[];
  size: number;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

export function createGroup<Row, Outcome>(options: GroupOptions<Row, Outcome>): Group<Row, Outcome> {
  const { namesOf, sizeOf = () => 0, together, soon = (begin) => begin() } = options;
  const alone = (row: Row) => untilNotLost(() => options.alone(row));
  const { maxRows = 128, maxCharacters = 1024 * 1024, inFlight = 2, maxWaiting = 10_000 } = options;
  const ready: Entry<Row, Outcome>[] = [];
  /** Names of rows that are ready or under way, each with those that wait for it. */
  const held = new Map<string, Entry<Row, Outcome>[]>();
  let parked = 0;
  let underWay = 0;
  let isBeginning = false;

  /** Takes the row's names, or leaves it with the first one that is taken. */
  function admit(entry: Entry<Row, Outcome>): boolean {
    for (const name of entry.names) {
      const queue = held.get(name);
      if (queue === undefined) continue;
      queue.push(entry);
      parked += 1;
      return false;
    }
    for (const name of entry.names) held.set(name, []);
    ready.push(entry);
    return true;
  }

  function release({ names }: Entry<Row, Outcome>): void {
    for (const name of names) {
      const queue = held.get(name) ?? [];
      held.delete(name);
      // The first that gets the name keeps the others behind it; one that now waits for another name lets the next one try.
      for (let next = queue.shift(); next !== undefined; next = held.has(name) ? undefined : queue.shift()) {
        parked -= 1;
        if (admit(next)) held.set(name, queue);
      }
    }
  }

  function end(entry: Entry<Row, Outcome>, tell: () => void): void {
    release(entry);
    tell();
  }

  async function runAlone(entry: Entry<Row, Outcome>): Promise<void> {
    try {
      const outcome = await alone(entry.row);
      end(entry, () => entry.resolve(outcome));
    } catch (error) {
      end(entry, () => entry.reject(error));
    }
    pump();
  }

  async function runTogether(batch: readonly Entry<Row, Outcome>[]): Promise<void> {
    underWay += 1;
    try {
      const outcomes = await together(batch.map(({ row }) => row));
      for (const [at, entry] of batch.entries()) end(entry, () => entry.resolve(outcomes[at] as Outcome));
    } catch (error) {
      if (isCertainlyUndone(error)) for (const entry of batch) void runAlone(entry);
      else for (const entry of batch) end(entry, () => entry.reject(error));
    } finally {
      underWay -= 1;
    }
    pump();
  }

  function pump(): void {
    if (isBeginning || underWay >= inFlight || ready.length === 0) return;
    isBeginning = true;
    soon(beginCommits);
  }

  /** Large rows go in smaller batches, so that a statement stays within what a database likes to read, and small ones do not wait for them. */
  function lengthOfBatch(): number {
    let characters = 0;
    const end = ready.findIndex(({ size }, at) => at === maxRows || ((characters += size) > maxCharacters && at > 0));
    return end === -1 ? ready.length : end;
  }

  function beginCommits(): void {
    isBeginning = false;
    while (underWay < inFlight && ready.length > 0) {
      const batch = ready.splice(0, lengthOfBatch());
      batch.sort((a, b) => compare(a.names[0] ?? '', b.names[0] ?? ''));
      void runTogether(batch);
    }
  }

  return {
    add(row) {
      if (ready.length + parked >= maxWaiting) return alone(row);
      return new Promise((resolve, reject) => {
        if (admit({ row, names: [...new Set(namesOf(row))], size: sizeOf(row), resolve, reject })) pump();
      });
    },
    get waiting() {
      return ready.length + parked;
    },
  };
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
