// Everyday commands of operators: the review list, a sale with its timeline, the audit log, and callbacks.
import { type Body, type Definition, fields, get, merchantOption, part, plain, post, table } from './cabinet-definition.ts';
import { UsageError } from './usage-error.ts';

const spanOptions = { from: 'from this time on, for example 2026-11-16T08:00:00Z', to: 'before this time' };
const pageOptions = { limit: 'at most so many', cursor: '`next` of the previous list: continues after it' };

/** A list and its next cursor. */
function page(...shown: Parameters<typeof table>): (body: Body) => string {
  return (body) => [table(...shown)(body), ...(body['next'] === undefined ? [] : [`next: --cursor ${plain(body['next'])}`])].join('\n');
}

/** Only the browser has sentences for steps; here the parameters are listed. */
function factsOf(step: Body): string {
  const { params = {} } = (step['text'] ?? {}) as { params?: Body };
  const given = Object.entries(params).filter(([, value]) => value !== null && value !== undefined && value !== '');
  const detail = step['detail'] === undefined ? [] : [plain(step['detail'])];
  return [...given.map(([name, value]) => `${name}=${plain(value)}`), ...detail].join(' ');
}

/** A sale or an invoice with its timeline. */
function story(name: string, ...shown: string[]): (body: Body) => string {
  const timeline = table('steps', 'at', 'actor', 'kind', 'via', 'facts');
  return (body) => {
    const steps = (body['timeline'] as Body[]).map((step) => ({ ...step, facts: factsOf(step) }));
    return [fields(...shown)(body[name] as Body), timeline({ steps })].join('\n\n');
  };
}

const instanceTable = table(
  'instances',
  'state',
  'version',
  'host',
  'pid',
  'startedAt',
  'seenAt',
  'clockOffsetMs',
  'mqtt',
  'queue',
  'devices',
  'http',
  'database',
  'waitingCalls',
  'commands',
  'callbacks',
);

/** One line per instance; database connections as busy/open/waiting. */
function instanceRow(row: Body): Body {
  const { channels = {}, database, ...status } = (row['status'] ?? {}) as { channels?: Body; database?: Record<string, number> };
  const isUp = (channel: unknown) => (channel === undefined ? undefined : channel ? 'up' : 'down');
  const { busy = 0, idle = 0, waiting = 0 } = database ?? {};
  return {
    ...row,
    ...status,
    mqtt: isUp(channels['mqtt']),
    queue: isUp(channels['queue']),
    database: database && `${busy} busy, ${idle} idle, ${waiting} waiting`,
  };
}

export const everydayCalls: readonly Definition[] = [
  {
    name: 'review list',
    help: 'Lists commands without a settled outcome, oldest first: each needs `tillgate command decide`.',
    options: merchantOption,
    call: ({ merchant }) => get('/review', { merchantId: merchant }),
    show: table('commands', 'id', 'deviceId', 'name', 'state', 'amount', 'documentNr', 'issuedAt', 'reviewSince', 'reviewReason'),
  },
  {
    name: 'orphan list',
    help: 'Lists payments that were taken for invoices that could not be marked paid.',
    options: merchantOption,
    call: ({ merchant }) => get('/orphans', { merchantId: merchant }),
    show: table('orphans', 'kind', 'id', 'oid', 'receiptId', 'deviceId', 'reason', 'at'),
  },
  {
    name: 'command list',
    help: 'Lists payments and fiscal operations, newest first, or finds some.',
    options: {
      ...merchantOption,
      q: 'document, rrn, operation id, Receipt.Uid, receipt number, id or its beginning, amount',
      state: 'for example paid, unknown, needsPerson, notClosed or declined',
      device: 'only those of the device with this id',
      ...spanOptions,
      ...pageOptions,
    },
    call: ({ merchant, device, ...query }) => get('/commands', { merchantId: merchant, deviceId: device, ...query }),
    show: page('commands', 'id', 'at', 'name', 'shownState', 'amount', 'deviceName', 'documentNr', 'rrn'),
  },
  {
    name: 'command show',
    help: 'Shows a payment or fiscal operation with its timeline.',
    subject: 'COMMAND_ID',
    call: (_values, id) => get(`/commands/${part(id)}`),
    show: story(
      'command',
      'id',
      'at',
      'name',
      'state',
      'shownState',
      'amount',
      'refunded',
      'documentNr',
      'operationId',
      'rrn',
      'deviceName',
    ),
  },
  {
    name: 'command decide',
    help: 'Decides an outcome by hand, after a check at the terminal or the bank; or closes the review of a settled command.',
    subject: 'COMMAND_ID',
    options: {
      'state!': 'done or refused',
      'reason!': 'why; stored in the audit log',
      'operation-id': "the bank's number of a payment that was made, so that it can be closed and refunded",
      rrn: 'its rrn',
      'close-review': 'yes: confirms that the contradiction was seen; done keeps its number taken, refused frees it',
    },
    call: ({ state, reason, rrn, ...rest }, id) =>
      post(`/commands/${part(id)}/decide`, {
        state,
        reason,
        rrn,
        operationId: rest['operation-id'],
        closesReview: rest['close-review'] === 'yes' || undefined,
      }),
    show: (body) => fields('id', 'state', 'settledAt', 'settledBy')(body['command'] as Body),
  },
  {
    name: 'command close-document',
    help: 'Frees a terminal that cannot close the document of its payment itself.',
    subject: 'COMMAND_ID',
    options: { 'reason!': 'why; stored in the audit log' },
    call: ({ reason }, id) => post(`/commands/${part(id)}/close-document`, { reason }),
    show: () => 'Closed.',
  },
  {
    name: 'invoice list',
    help: 'Lists invoices, newest first, or finds some.',
    options: {
      ...merchantOption,
      q: 'OID or its beginning, receipt number or Uid, amount',
      state: 'NewItem, Scanned, Payed, Expired or Cancelled',
      ...spanOptions,
      ...pageOptions,
    },
    call: ({ merchant, ...query }) => get('/invoices', { merchantId: merchant, ...query }),
    show: page('invoices', 'oid', 'at', 'state', 'amount', 'validTo', 'receiptId', 'paidDeviceName'),
  },
  {
    name: 'invoice show',
    help: 'Shows an invoice with its timeline.',
    subject: 'OID',
    call: (_values, id) => get(`/invoices/${part(id)}`),
    show: story('invoice', 'oid', 'at', 'state', 'amount', 'validTo', 'scannedAt', 'endedAt', 'receiptId', 'paidDeviceName'),
  },
  {
    name: 'audit list',
    help: 'Lists the audit log, newest first.',
    options: {
      ...merchantOption,
      subject: 'only entries about this id',
      before: 'only entries older than the one with this id',
      limit: 'at most so many',
    },
    call: ({ merchant, ...query }) => get('/audit', { merchantId: merchant, ...query }),
    show: table('audit', 'id', 'at', 'actor', 'action', 'subject', 'detail'),
  },
  {
    name: 'instances',
    help: 'Lists the gateways on this database: running, and lost within the last day.',
    call: () => get('/instances'),
    show: (body) => instanceTable({ instances: (body['instances'] as Body[]).map(instanceRow) }),
  },
  {
    name: 'callback list',
    help: 'Lists callbacks, newest first.',
    options: { ...merchantOption, state: 'pending, delivered or dead' },
    call: ({ merchant, state }) => get('/callbacks', { merchantId: merchant, state }),
    show: table('callbacks', 'id', 'subjectId', 'sequence', 'state', 'attempts', 'createdAt', 'url'),
  },
  {
    name: 'callback show',
    help: 'Shows a callback with its URL and every attempt: time, answer of the ERP, error.',
    subject: 'CALLBACK_ID',
    call: (_values, id) => get(`/callbacks/${part(id)}`),
    show: (body) =>
      [
        fields('id', 'subjectId', 'sequence', 'state', 'attempts', 'createdAt', 'nextAttemptAt', 'url')(body['callback'] as Body),
        table('attempts', 'attempt', 'at', 'status', 'durationMs', 'error')(body),
      ].join('\n\n'),
  },
  {
    name: 'callback resend',
    help: "Sends one callback again, or a merchant's dead callbacks of a period.",
    subject: 'CALLBACK_ID',
    subjectIsOptional: true,
    options: { merchant: 'id of the merchant', from: 'from this time on', to: 'before this time' },
    call({ merchant, from, to }, id) {
      if (id !== '') return post(`/callbacks/${part(id)}/resend`);
      if (!merchant || !from || !to) throw new UsageError('Name a callback, or --merchant, --from and --to.');
      return post('/callbacks/resend', { merchantId: merchant, from, to });
    },
    show: (body) => (body['count'] === undefined ? 'Sent again.' : `Callbacks sent again: ${plain(body['count'])}`),
  },
];
