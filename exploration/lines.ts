// What a line of a transcript (test/money/*.txt) does: a call of the API, something that a device does, a step of a person, or time that passes.
import { sameNumber } from '../src/kernel/ids.ts';
import { parseAmount } from '../src/kernel/money.ts';
import type { Id, Op, Report } from '../src/money/case.ts';
import type { CallEvent, Event } from '../src/money/event.ts';
import { decide } from '../src/money/rules/decide.ts';
import { isOpen } from '../src/money/rules/facts.ts';
import { unitOf } from '../src/money/unit.ts';
import { load } from './memory-load.ts';
import { shopCalls, shopLines } from './shop-lines.ts';
import { type Acted, aroundOf, goOn, hardwareOf, longAgo, merchantId, now, opOf, opsOf, runIn, type State, withTimes } from './world.ts';

type Words = Readonly<Record<string, string | undefined>>;

/** Performs one line. Throws for a line that it does not know. */
export function perform(state: State, line: string): Acted {
  for (const [pattern, act] of lines) {
    const match = pattern.exec(line);
    if (match) return act(state, match.groups ?? {});
  }
  const call = callOf(line);
  if (call) return runIn(state, named(state, call));
  throw new Error(`No such line is known: ${line}`);
}

const amount = (text: string) => parseAmount(text) ?? Number.NaN;
const hash = (words: readonly string[]) => words.join(' ');

const options = {
  key: / key (?<key>\S+)$/,
  isByPerson: / by a person$/,
  callback: / with CallbackURI$/,
  isForInvoices: / with a key for QR alone$/,
};

/** A call of the API by its name, with its fields in the order of the specification; `key k`, `with CallbackURI` and `by a person` follow. */
export function callOf(line: string): Event | undefined {
  let text = line;
  const taken: Partial<Record<keyof typeof options, RegExpExecArray>> = {};
  for (let isFound = true; isFound; ) {
    isFound = false;
    for (const [name, pattern] of Object.entries(options) as [keyof typeof options, RegExp][]) {
      const match = pattern.exec(text);
      if (!match) continue;
      taken[name] = match;
      text = text.slice(0, match.index);
      isFound = true;
    }
  }
  const [name = '', ...words] = text.split(' ');
  const key = taken.key?.groups?.['key'];
  const requestHash = hash([name, ...words]);
  const call = {
    merchantId,
    newId: '',
    deviceId: words[0] ?? '',
    ...(key === undefined ? {} : { key: { key, requestHash } }),
    ...(taken.isByPerson ? { isByPerson: true } : {}),
    ...(taken.isForInvoices ? { isForInvoices: true } : {}),
    ...(taken.callback ? { callbackUri: 'http://erp/done' } : {}),
  };
  return calls[name]?.(call, words.map(sameNumber), requestHash);
}

type Fields = Pick<CallEvent, 'merchantId' | 'newId' | 'deviceId'>;

const calls: Readonly<Record<string, (call: Fields, words: readonly string[], requestHash: string) => Event>> = {
  Pay: (call, [, ...words], requestHash) =>
    words.length > 1
      ? { type: 'Pay', ...call, documentNr: words[0], amountBani: amount(words[1] ?? '') }
      : { type: 'Pay', ...call, requestHash, amountBani: amount(words[0] ?? '') },
  CloseDoc: (call, [, documentNr = '', operationId = '']) => ({ type: 'CloseDoc', ...call, documentNr, operationId }),
  Refund: (call, [, documentNr = '', operationId = '', rrn = '', lei = ''], requestHash) => ({
    ...{ type: 'Refund', ...call, documentNr, operationId, rrn, amountBani: amount(lei), requestHash },
  }),
  CancelTransaction: (call, [, documentNr = '', operationId = '', lei = ''], requestHash) => ({
    ...{ type: 'CancelTransaction', ...call, documentNr, operationId, token: 'token', amountBani: amount(lei), requestHash },
  }),
  closeDay: (call, _, requestHash) => ({ type: 'Plain', ...call, kind: 'CloseDay', args: {}, requestHash }),
  ...shopCalls,
  // The last word: the only module that the caller's key opens.
  Status: ({ merchantId: id }, [what = '', name = '', , module]) => ({
    ...{ type: 'Status', merchantId: id, [statusNames[what] ?? what]: name },
    ...(module === undefined ? {} : { modules: [module] }),
  }),
};

const statusNames: Words = { OID: 'oid', documentNr: 'documentNr', ReceiptUid: 'receiptUid', IdempotencyKey: 'idempotencyKey' };

const prefixes: Partial<Record<Op['kind'], string>> = {
  ...{ Pay: 'p', CloseDoc: 'c', CancelTransaction: 'v', Refund: 'r', Abort: 'a', CloseDay: 'd', Report: 'z', PrintReceipt: 'print' },
  ...{ MoneyIn: 'in', MoneyOut: 'out' },
};

/** The operation that a call begins gets a readable id: p1, p2, c1, ... Which kind it is, the rules say: a void and an abort are one call. */
export function named(state: State, event: Event): Event {
  if (!('newId' in event)) return event;
  const row = runIn(state, event).unit?.inserts.find(({ table }) => table === 'commands')?.row;
  if (!row) return event;
  const kind = row['name'] as Op['kind'];
  const count = opsOf(state).filter((op) => op.kind === kind).length;
  return { ...event, newId: `${prefixes[kind]}${count + 1}` };
}

type Act = (state: State, words: Words) => Acted;
const id = '(?<id>[a-z]+\\d+)';
const line = (pattern: string, act: Act): readonly [RegExp, Act] => [new RegExp(`^${pattern}$`), act];
const outcomes = '(?<outcome>done|refused|unsupported|busy|expired|never|unknown)';
const fields = '(?: with (?<fields>.*))?';

const lines: readonly (readonly [RegExp, Act])[] = [
  ...shopLines,
  // Devices. What one has really done is its truth, which it says then or later.
  line(`(?<device>\\S+) executes ${id}${fields}, its answer is lost`, (state, words) => ({ state: did(state, words, 'executed') })),
  line(`(?<device>\\S+) executes ${id}${fields}`, (state, words) => says(did(state, words, 'executed'), words, 'done')),
  line(`(?<device>\\S+) refuses ${id}, its answer is lost`, (state, words) => ({ state: did(state, words, 'refused') })),
  line(`(?<device>\\S+) refuses ${id}${fields}`, (state, words) => says(did(state, words, 'refused'), words, 'refused')),
  line(`(?<device>\\S+) accepts ${id}`, (state, words) => runIn(did(state, words, 'running'), { type: 'Accepted', id: words['id'] ?? '' })),
  line(`the acceptance of ${id} is received, and not written yet`, (state, words) => ({
    state: { ...did(state, words, 'running'), gathered: [...state.gathered, words['id'] ?? ''] },
  })),
  line(`the acceptance of ${id} is written`, (state, { id: accepted = '' }) =>
    runIn({ ...state, gathered: state.gathered.filter((one) => one !== accepted) }, { type: 'Accepted', id: accepted }),
  ),
  line(`(?<device>\\S+) says ${outcomes} about ${id}${fields}`, (state, words) => says(state, words, words['outcome'] ?? '')),
  line(`(?<device>\\S+) is asked about ${id}`, isAsked),
  line(`(?<device>\\S+) refuses to stop ${id}`, refusesToStop),
  line(`${id} never arrives`, (state, words) => ({ state: did(state, words, 'absent') })),
  line(`the gateway learns that no copy of ${id} left`, (state, words) =>
    runIn(did(state, words, 'absent'), { type: 'NotSent', id: words['id'] ?? '', reason: 'no copy left' }),
  ),
  line('(?<device>\\S+) is replaced by other hardware', (state, { device = '' }) => connected(state, device, `${device}-b`)),
  line('(?<device>\\S+) has its first hardware again', (state, { device = '' }) => connected(state, device, `${device}-a`)),
  line('(?<device>\\S+) goes offline', (state, { device = '' }) => connected(state, device, undefined)),
  // Gateways.
  line('a gateway decides and stands still: (?<call>.*)', standsStill),
  line('that gateway goes on', (state) => goOn(state)),
  line(`the caller of ${id} has the answer`, (state, words) => runIn(state, { type: 'Delivery', id: words['id'] ?? '', was: 'received' })),
  line(`(?<call>.*), while the caller of ${id} waits`, (state, { call = '', id: waiting = '' }) => {
    const event = callOf(call);
    if (!event) throw new Error(`This is no call: ${call}`);
    const acted = runIn({ ...state, waiting: [waiting] }, named(state, event));
    return { ...acted, state: { ...acted.state, waiting: state.waiting } };
  }),
  line(`the caller of ${id} left`, (state, words) => runIn(state, { type: 'Delivery', id: words['id'] ?? '', was: 'missed' })),
  // Time.
  line(`the last moment of ${id} passes`, (state, words) => {
    const passed = withTimes(state, words['id'] ?? '', { answerBy: longAgo });
    return runIn(passed, { type: 'Deadline', id: words['id'] ?? '' });
  }),
  line(`the sweep finds ${id} unknown for long`, (state, words) => runIn(state, { type: 'Overdue', id: words['id'] ?? '' })),
  line('(?<count>\\d+) (?<unit>second|minute|hour|day)s? pass(?:es)?', passes),
  line(`the retention time of ${id} passes`, (state, words) => runIn(state, { type: 'Remove', id: words['id'] ?? '' })),
  // People.
  line(`an operator decides: ${id} (?<verdict>done|not executed)${fields}`, (state, words) => runIn(state, decision(words))),
  line(`an operator resolves the dispute: ${id} (?<verdict>done|not executed)${fields}`, (state, words) =>
    runIn(state, { ...decision(words), contradiction: opOf(state, words['id'] ?? '').contradiction }),
  ),
  line(`an operator closes the review of ${id}`, (state, words) =>
    runIn(state, { ...decision({ ...words, verdict: 'done' }), contradiction: opOf(state, words['id'] ?? '').contradiction }),
  ),
  line(`an operator closes the document of ${id} by hand`, (state, words) =>
    runIn(state, { type: 'CloseByHand', id: words['id'] ?? '', reason: 'closed at the terminal' }),
  ),
  line('an operator declares the hardware of (?<device>\\S+) lost', (state, { device = '' }) =>
    runIn(state, { type: 'HardwareLost', deviceId: device, reason: 'broken' }),
  ),
];

/** `with operationId 17 rrn 9 amount 150.00` */
function fieldsIn(text: string | undefined): Record<string, string> {
  const words = text?.split(' ') ?? [];
  return Object.fromEntries(words.flatMap((word, at) => (at % 2 === 0 ? [[word, words[at + 1] ?? '']] : [])));
}

function decision({ id: subject = '', verdict, fields: given }: Words): Extract<Event, { type: 'Decide' }> {
  return { type: 'Decide', id: subject, isDone: verdict === 'done', reason: 'seen by the shop', ...fieldsIn(given) };
}

function did(state: State, { id: subject = '' }: Words, what: 'running' | 'executed' | 'refused' | 'absent'): State {
  const truth = state.truth[subject] ?? { hw: hardwareOf(state, opOf(state, subject).deviceId) };
  return { ...state, truth: { ...state.truth, [subject]: { ...truth, did: what } } };
}

/** What the device reports of an operation that it has executed. */
export function reportOf(op: Op, given: Record<string, string> = {}): Report {
  const lei = given['amount'] ?? String((op.amountBani ?? 0) / 100);
  const said = { ...given, amount: Number(lei) };
  switch (op.kind) {
    case 'Pay':
      return { rrn: `rrn-${op.id}`, authCode: 'auth', operationId: `op-${op.id}`, ...said };
    case 'Refund':
      return { rrn: `rrn-${op.id}`, operationId: `op-${op.id}`, ...said };
    case 'CancelTransaction':
      return { operationId: op.operationId, ...said };
    case 'CloseDay':
      return { count: 1, ...said };
    case 'PrintReceipt':
      return { receiptId: `receipt-${op.id}`, fiscalNumber: op.id, total: said.amount, ...given };
    default:
      return given;
  }
}

/** The device answers; its answer comes from the journal that is connected. */
function says(
  state: State,
  { id: subject = '', device = '', fields: given }: Words,
  outcome: string,
  source: Op['settledBy'] = 'answer',
): Acted {
  const op = opOf(state, subject);
  const said = fieldsIn(given);
  const { reason, ...numbers } = said;
  return runIn(state, {
    ...{ type: 'Report', id: subject, outcome: outcome as Extract<Event, { type: 'Report' }>['outcome'] },
    source: source ?? 'answer',
    journalId: state.live[device] ?? undefined,
    wasAccepted: state.gathered.includes(subject),
    ...(outcome === 'done' ? { report: reportOf(op, numbers) } : {}),
    ...(reason === undefined ? {} : { reason }),
  });
}

/** A Recall: the journal that is connected says what it knows. A device without a journal shows its last transaction. */
function isAsked(state: State, words: Words): Acted {
  const { id: subject = '', device = '' } = words;
  const truth = state.truth[subject];
  const isHere = truth?.hw === hardwareOf(state, device) && truth.hasForgotten === undefined;
  if (state.live[device] === null || opOf(state, subject).journalId === null)
    return isHere && truth.did === 'executed'
      ? says(state, words, 'done', 'last-transaction')
      : runIn(state, { type: 'LastIsAnother', id: subject, journalId: state.live[device] ?? undefined });
  if (isHere && truth.did === 'running') return runIn(state, { type: 'Accepted', id: subject, isRunning: true });
  if (isHere && truth.did === 'executed') return says(state, words, 'done', 'recall');
  if (isHere && truth.did === 'refused') return says(state, words, 'refused', 'recall');
  return says(state, words, 'never', 'recall');
}

function refusesToStop(state: State, { id: payment = '' }: Words): Acted {
  const abort = opsOf(state).find((op) => op.kind === 'Abort' && op.targetId === payment && isOpen(op));
  if (!abort) throw new Error(`No request to stop ${payment} is open.`);
  return runIn(state, { type: 'AbortRefused', id: abort.id });
}

const connected = (state: State, device: Id, journalId: string | undefined): Acted => ({
  state: { ...state, live: { ...state.live, [device]: journalId } },
});

function standsStill(state: State, { call = '' }: Words): Acted {
  const noted = /^the caller of (?<id>\S+) has the answer$/.exec(call)?.groups?.['id'];
  const asked: Event | undefined = noted === undefined ? callOf(call) : { type: 'Delivery', id: noted, was: 'received' };
  if (!asked) throw new Error(`This is no call: ${call}`);
  const first = named(state, asked);
  // If it decides again, it may begin an operation after all.
  const event = 'newId' in first && first.newId === '' ? { ...first, newId: `late${state.count}` } : first;
  const facts = load(state.ledger, event, aroundOf(state));
  const decided = decide(facts, event);
  if (!decided.next) throw new Error(`This call changes nothing: ${call}`);
  return { state: { ...state, pending: { unit: unitOf(facts, decided), event, label: call } } };
}

const lengths: Readonly<Record<string, number>> = { second: 1000, minute: 60_000, hour: 3_600_000, day: 86_400_000 };
const times: Readonly<Record<string, readonly string[]>> = {
  commands: ['issued_at', 'answer_by', 'accepted_at', 'settled_at', 'outcome_missed_at', 'outcome_received_at', 'removed_at'],
  idempotency_keys: ['created_at'],
  invoices: ['valid_to', 'scanned_at', 'ended_at'],
};

/** The clock stands, so everything that happened moves into the past. Then deadlines are looked for, as the gateways do. */
function passes(state: State, { count = '', unit = '' }: Words): Acted {
  const ms = Number(count) * (lengths[unit] ?? 0);
  const ledger = Object.fromEntries(
    Object.entries(state.ledger).map(([table, rows]) => {
      const columns = times[table] ?? [];
      const moved = Object.entries(rows).map(([key, row]) => {
        const past = columns.flatMap((column) => (typeof row[column] === 'number' ? [[column, row[column] - ms]] : []));
        return [key, { ...row, ...Object.fromEntries(past) }];
      });
      return [table, Object.fromEntries(moved)];
    }),
  );
  let next: State = { ...state, ledger };
  for (const op of opsOf(next)) if (op.state === 'sent' && op.answerBy <= now) next = runIn(next, { type: 'Deadline', id: op.id }).state;
  return { state: next };
}
