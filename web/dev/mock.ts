// Answers for the pages while their calls are being built: used by `vite web --mode mock` only, never by a build.
import type { Plugin } from 'vite';

const nowMs = Date.now();
const iso = (agoS: number) => new Date(nowMs - agoS * 1000).toISOString();
const id = (n: number) => `${(0x7a1e4c20 + n * 7919).toString(16)}-5e6f-4a7b-8c9d-0e1f2a3b2c${(16 + n).toString(16)}`;
const states = [
  'waiting',
  'paid',
  'unknown',
  'paid',
  'paid',
  'declined',
  'paid',
  'notClosed',
  'refunded',
  'notClosed',
  'paid',
  'paid',
  'never',
  'paid',
  'voided',
  'paid',
  'needsPerson',
];
const amounts = [612, 48, 89, 1248.7, 76.4, 329.9, 329.9, 245, 64.5, 186.2, 35, 512.3, 120, 150.5, 75, 2310, 400];
const devices = ['Centru · Casa 2', 'Cafenea · Bar', 'Botanica · Casa 3', 'Centru · Casa 1', 'Bălți · Casa 1', 'Centru · Casa 2'];
const banks = ['moldindconbank', 'otp', 'victoriabank', 'maib', 'maib', 'moldindconbank'];
const rows = states.map((shownState, n) => ({
  id: id(n),
  name: shownState === 'refunded' ? 'Refund' : 'Pay',
  state: shownState === 'waiting' ? 'sent' : shownState === 'unknown' ? 'unknown' : 'done',
  shownState,
  at: iso(n * n * 11 + n * 30),
  amount: amounts[n],
  documentNr: id(n + 40),
  ...(['waiting', 'unknown', 'declined', 'never'].includes(shownState)
    ? {}
    : { rrn: `63161400${8700 + n * 13}`, operationId: `000${100 + n}` }),
  deviceId: id(100 + (n % 6)),
  deviceName: devices[n % 6],
  bank: banks[n % 6],
  shop: 'CHI-01',
  merchantId: id(200),
  merchantName: 'Casa Verde SRL',
  durationMs: 11_800,
  settledBy: 'answer',
}));

const said = (key: string, params: object = {}) => ({ key, params });
const step = (ms: number, actor: string, kind: string, text: string, detail: string | undefined, more: object = {}) => ({
  at: new Date(nowMs - 1_800_000 + ms).toISOString(),
  sinceStartMs: ms,
  actor,
  kind,
  isMoney: false,
  text: said(text),
  ...(detail === undefined ? {} : { detail: said(detail) }),
  ...more,
});
const timeline = [
  step(0, 'erp', 'asked', 'Asked for 150.50 MDL', 'Pay · key “ERP Centru” · document 3f9f6a52', { from: 'erp', to: 'gateway' }),
  step(4, 'gateway', 'committed', 'Written to the ledger', 'before anything left the gateway'),
  step(6, 'gateway', 'sent', 'Sent to Casa 1', 'by MQTT', { from: 'gateway', to: 'device', via: 'mqtt' }),
  step(92, 'device', 'accepted', 'Accepted', 'in the terminal’s journal; asks for the card', {
    from: 'device',
    to: 'gateway',
    via: 'mqtt',
  }),
  step(17_900, 'device', 'channelLost', 'Channel lost', 'the terminal’s Wi-Fi dropped', { isLost: true, via: 'mqtt' }),
  step(18_600, 'bank', 'approved', 'Bank approved 150.50 MDL', 'auth 283749', {
    from: 'device',
    to: 'bank',
    isMoney: true,
    learnedAt: new Date(nowMs - 1_750_400).toISOString(),
  }),
  step(18_700, 'device', 'answerLost', 'Its answer found no way back', 'kept in the terminal’s journal', {
    from: 'device',
    to: 'gateway',
    via: 'mqtt',
    isLost: true,
  }),
  step(19_000, 'gateway', 'unknown', 'Recall, no answer', 'every 5 s', { from: 'gateway', to: 'queue', repeats: 6 }),
  step(49_500, 'device', 'seen', 'Seen again on the queue', 'same boot, same journal', { from: 'device', to: 'gateway', via: 'queue' }),
  step(49_600, 'device', 'recalled', 'Recall answered: final, done', 'rrn 631614008813 · operation 000147', {
    from: 'device',
    to: 'gateway',
    via: 'queue',
  }),
  step(49_610, 'gateway', 'settled', 'Settled: charged once', 'by Recall; nobody had to look'),
  step(49_620, 'gateway', 'answered', 'ERP answered: errorCode 0', 'its call had waited 49.6 s', { from: 'gateway', to: 'erp' }),
  step(49_900, 'device', 'late', 'The late answer came too', 'same content, ignored', { from: 'device', to: 'gateway', via: 'queue' }),
  step(50_900, 'erp', 'closed', 'Document closed', 'CloseDoc by the ERP · 0.5 s', { from: 'erp', to: 'device', via: 'mqtt' }),
  step(53_900, 'device', 'printed', 'Receipt R-4127 printed', 'Registru 1 · by queue · 2.3 s', {
    from: 'gateway',
    to: 'device',
    via: 'queue',
    isMoney: true,
  }),
  step(54_200, 'callback', 'callbackFailed', 'Callback refused: 503', '212 ms · next try in 1 min', {
    from: 'gateway',
    to: 'erp',
    isLost: true,
  }),
  step(114_000, 'callback', 'callbackDelivered', 'Callback delivered: 200', '88 ms · second try', { from: 'gateway', to: 'erp' }),
  step(242_000, 'person', 'asked', 'An operator asked the device again', 'journal: final, done · nothing changed', {
    from: 'person',
    to: 'gateway',
  }),
];
const sale = {
  command: { ...rows[13], at: timeline[0]?.at },
  outcome: said('Charged once. The answer was lost for 31 s and found by Recall.'),
  advice: said('Nothing to do. The customer has paid and has the receipt; the ERP knows both.'),
  marks: [
    { key: 'Paid', state: 'paid' },
    { key: 'Document closed', state: 'closed' },
    { key: 'Receipt printed', state: 'printed' },
    { key: 'ERP told, second try', state: 'told' },
  ],
  facts: { card: '•••• 4417, chip and PIN', leftToRefund: 150.5, authCode: '283749', by: 'key “ERP Centru”' },
  receipt: {
    number: 'R-4127',
    items: [
      { name: 'Pâine cu maia', amount: 24.5 },
      { name: 'Brânză de oi, 0.450 kg', amount: 63 },
      { name: 'Mere Florina', amount: 27 },
    ],
    total: 150.5,
  },
  related: { refunds: [], callbacks: [{ id: id(300), state: 'delivered' }] },
  timeline,
  unclear: [{ fromMs: 17_900, toMs: 49_600 }],
  raw: {
    request: { DeviceID: 'b4c7b0f6…1a90', amount: 150.5, documentNr: '3f9f6a52…5a6b' },
    report: { rrn: '631614008813', authCode: '283749', amount: 150.5, maskedCard: '************4417' },
    told: { errorCode: 0, errorMessage: '' },
  },
  steps: [
    {
      action: 'refund',
      isAllowed: true,
      maxAmount: 150.5,
      consequence: said('Casa 1 gives the money back to card 4417. Possible until the bank day is closed, today at 21:00.'),
    },
    {
      action: 'void',
      isAllowed: true,
      maxAmount: 150.5,
      consequence: said('Takes the whole sale back as if it had not been. The receipt stays in fiscal memory.'),
    },
    { action: 'ask', isAllowed: true, consequence: said('Reads the terminal’s journal. Changes nothing.') },
    { action: 'close', isAllowed: false, whyNot: said('The document is closed already.'), consequence: said('Closes it.') },
  ],
};

const answers: Record<string, object> = {
  '/session': {
    user: { id: id(1), name: 'Olga Popa', email: 'olga@example.md', role: 'operator' },
    isSandbox: true,
    version: '0.1.0',
    basePath: '/tillgate',
    banks: ['maib', 'moldindconbank', 'victoriabank', 'otp'].map((code) => ({
      code,
      name: code === 'otp' ? 'OTP Bank' : code[0]?.toUpperCase() + code.slice(1),
    })),
  },
  '/merchants': { merchants: [{ id: id(200), name: 'Casa Verde SRL', createdAt: iso(1e6) }] },
  '/commands': { commands: rows, next: 'x' },
  '/devices': { devices: [] },
  '/attention': { items: [], counts: { unknown: 1, notClosed: 2, contradiction: 3 }, sums: {} },
};

export function mockGateway(): Plugin {
  return {
    name: 'mock-gateway',
    configureServer(server) {
      server.middlewares.use('/tillgate/cabinet/api', (request, response) => {
        const path = (request.url ?? '').split('?')[0] ?? '';
        response.setHeader('content-type', 'application/json');
        const answer = /^\/commands\/./.test(path) ? sale : answers[path];
        response.statusCode = answer ? 200 : 404;
        response.end(
          JSON.stringify(answer ? { errorCode: 0, errorMessage: '', ...answer } : { errorCode: 40, errorMessage: 'Invalid_Request: none' }),
        );
      });
    },
  };
}
