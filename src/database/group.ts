// Group commit: rows that arrive while a commit is under way share the next one, so that many callers share one statement, one round trip
// and one sync to disk. There is no timer: a single row is committed as soon as the input that arrived with it is read (`soon`).
//
//   const inserts = createGroup({ namesOf, together, alone });
//   const outcome = await inserts.add(row);          resolves after the commit that has this row, with this row's own outcome
//
// Invariants: at most `inFlight` commits of `maxRows` rows and `maxCharacters` (or one row) are under way. Of rows that share a name (a
// device, a number, a key, an id), only one is under way; the second waits for the first. The rows of a commit have one fixed order, so
// that two gateways that share rows do not deadlock. No caller is answered before its commit.
//
// `together` must write all of its rows in one commit or none of them, each with its own guard, and `alone` must change nothing for a row
// that was written already. If a batch
//   certainly failed (a bad row, a lock that was not released soon) ... every row runs alone: one bad row affects no other; a row that the
//                                                                       database ends in favour of another transaction is retried
//   has an unclear commit (database down, answer lost) ................ every caller gets that error and reads its own row back
//   is interrupted by the death of the process ........................ before the commit nothing is written, after it everything;
//                                                                       no caller was answered, as with a single statement
// Rows that run alone use no slot of a batch: a row that waits for a lock delays only rows that share a name with it.
import { isCertainlyUndone } from './errors.ts';
import { untilNotLost } from './until-not-lost.ts';

export interface Group<Row, Outcome> {
  add(row: Row): Promise<Outcome>;
  /** Rows that are not in a commit yet. */
  readonly waiting: number;
}

export interface GroupOptions<Row, Outcome> {
  /** Names that no other row under way may have; rows are sorted by the first one. */
  namesOf(row: Row): readonly string[];
  /** One commit for all. Returns the outcomes in the order of the rows. */
  together(rows: readonly Row[]): Promise<readonly Outcome[]>;
  /** The same for one row, with the full time limit of a statement. */
  alone(row: Row): Promise<Outcome>;
  /** The length of its texts; absent: negligible. */
  sizeOf?: (row: Row) => number;
  maxRows?: number;
  maxCharacters?: number;
  inFlight?: number;
  /** Rows that may wait; further ones run alone. */
  maxWaiting?: number;
  /** Delays a commit until rows that arrived together are added, so that the first of many does not go alone. Absent: no delay. */
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
  /** Names of rows that are ready or under way, each with the rows that wait for it. */
  const held = new Map<string, Entry<Row, Outcome>[]>();
  let parked = 0;
  let underWay = 0;
  let isBeginning = false;

  /** Takes the row's names, or queues the row at the first name that is taken. */
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
      // The first row that gets the name inherits the queue; if a row now waits for another name, the next one is tried.
      for (let next = queue.shift(); next !== undefined; next = held.has(name) ? undefined : queue.shift()) {
        parked -= 1;
        if (admit(next)) held.set(name, queue);
      }
    }
  }

  function end(entry: Entry<Row, Outcome>, notify: () => void): void {
    release(entry);
    notify();
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

  /** Large rows go in smaller batches, so that a statement stays short and small rows do not wait. */
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
