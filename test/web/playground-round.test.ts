// What stands on the lines of the Playground's stage: one round in the order in which it happened, taken from what the gateway saw.
import { describe, expect, it } from 'vitest';
import type { PlayCall, PlayCallback, Story, WireMessage } from '../../web/src/api/playground.ts';
import { beginningOf, isNo, nameOf, onLines, outcomeOf, roundOf } from '../../web/src/pages/playground/round.ts';
import { type Box, type Form, formOf, type Places, pathOf, routesOf } from '../../web/src/pages/playground/routes.ts';

const at = (ms: number) => new Date(1_000_000 + ms).toISOString();
const call = (ms: number, label: string, name: string, tookMs?: number): PlayCall => ({
  id: ms,
  at: at(ms),
  label,
  method: 'POST',
  headers: {},
  path: `/Device/payment/${name}`,
  curl: 'curl',
  ...(tookMs === undefined ? {} : { tookMs, status: 200, answer: { errorCode: 0 } }),
});
const wire = (seq: number, ms: number, more: Partial<WireMessage> = {}): WireMessage => ({
  seq,
  at: at(ms),
  deviceId: 't',
  via: 'mqtt',
  direction: 'toDevice',
  what: 'Pay',
  commandId: 'one',
  fate: 'carried',
  ...more,
});
const callback = (ms: number, answered: number, attempt: number): PlayCallback => ({
  id: 1,
  at: at(ms),
  state: 'Payed',
  subject: 'invoice',
  url: '',
  isVerified: true,
  answered,
  attempt,
  tookMs: 5,
});
const story = (startedMs: number, isRunning: boolean, lastStepMs: number): Story => ({
  name: 'lostAnswer',
  number: 1,
  of: 6,
  runId: 'r',
  isRunning,
  startedAt: at(startedMs),
  steps: [{ key: 'one', state: 'done', atMs: lastStepMs }],
});
const shown = { terminalId: 't', registerId: 'r' };

describe('a round', () => {
  it('puts calls, answers, callbacks and what the wire carried into one numbered order', () => {
    const messages = roundOf(
      {
        calls: [call(0, 'pay', 'Pay', 900)],
        callbacks: [callback(1_000, 200, 1)],
        wire: [wire(1, 10), wire(2, 800, { direction: 'toGateway', what: 'done' }), wire(3, 5, { deviceId: 'other' })],
      },
      shown,
    );
    expect(messages.map(({ number, line, what, sinceMs }) => [number, line, what, sinceMs])).toEqual([
      [1, 'ask', 'Pay', 0],
      [2, 'terminal.mqtt', 'Pay', 10],
      [3, 'terminal.mqtt', 'done', 800],
      [4, 'tell', 'errorCode 0', 900],
      [5, 'tell', 'Payed', 1_000],
    ]);
  });

  it('begins with the last call that began something, and leaves the sale before it out', () => {
    const calls = [call(6_000, 'close', 'CloseDoc', 5), call(5_000, 'pay', 'Pay', 900), call(0, 'pay', 'Pay', 900)];
    expect(roundOf({ calls, callbacks: [], wire: [wire(1, 10), wire(2, 5_010)] }, shown).map(({ key }) => key)).toEqual([
      'ask 5000',
      'wire 2',
      'answer 5000',
      'ask 6000',
      'answer 6000',
    ]);
  });

  it('is the whole story while one runs, and the play after it once something is played after it', () => {
    const calls = [call(5_000, 'pay', 'Pay'), call(1_000, 'pay', 'Pay')];
    expect(beginningOf({ calls, story: story(900, true, 0) })).toBe(1_000_900);
    expect(beginningOf({ calls, story: story(900, false, 6_000) })).toBe(1_000_900);
    expect(beginningOf({ calls, story: story(900, false, 2_000) })).toBe(1_005_000);
  });

  it('marks what is sent once more, on whichever line, and not what is about something else', () => {
    const other = wire(3, 60, { commandId: 'two' });
    const messages = roundOf({ calls: [], callbacks: [], wire: [wire(1, 0), wire(2, 50, { via: 'queue' }), other] }, shown);
    expect(messages.map(({ isRepeat }) => isRepeat)).toEqual([false, true, false]);
  });

  it('shows a callback that the ERP did not take as lost, and keeps only the newest of very many messages', () => {
    const refused = roundOf({ calls: [], callbacks: [callback(0, 503, 1)], wire: [] }, shown);
    expect(refused.map(({ fate }) => fate)).toEqual(['lost']);
    const many = roundOf({ calls: [], callbacks: [], wire: Array.from({ length: 100 }, (_, seq) => wire(seq, seq)) }, shown);
    expect([many.length, many.at(-1)?.number]).toEqual([40, 100]);
  });

  it('calls a call by what stands last in its address', () => {
    expect(nameOf({ path: '/tillgate/Device/payment/Pay' })).toBe('Pay');
    expect(nameOf({ path: '/Device/Invoice/Pay?x=1' })).toBe('Invoice/Pay');
    expect(nameOf({ path: '/Invoice/Get/0d3b2f34-9c0b-4a51-b5a4-9b1f5f0f6a11' })).toBe('Invoice/Get');
  });
});

describe('an answer', () => {
  it('that says no is distinguished from one that approves', () => {
    const noes = ['refused', 'final, refused', 'declined', 'errorCode 20', 'errorCode 50', 'Expired'];
    expect(noes.filter((what) => !isNo({ what }))).toEqual([]);
    expect(['done', 'final, done', 'accepted', 'errorCode 0', 'Payed'].filter((what) => isNo({ what }))).toEqual([]);
  });
});

describe('a line', () => {
  const done = (seq: number, ms: number, more: Partial<WireMessage> = {}) =>
    wire(seq, ms, { direction: 'toGateway', what: 'done', ...more });
  const lineOf = (messages: WireMessage[]) => onLines(roundOf({ calls: [], callbacks: [], wire: messages }, shown)).get('terminal.mqtt');

  it('shows the last message each way', () => {
    const line = lineOf([wire(1, 10), done(2, 20), wire(3, 30, { what: 'CloseDoc', commandId: 'two' })]);
    expect([line?.out?.what, line?.back?.number, line?.lost]).toEqual(['CloseDoc', 2, undefined]);
  });

  it('keeps the one that was lost and what it answered, whatever runs there afterwards', () => {
    const after = [wire(3, 30, { what: 'Recall' }), done(4, 40), wire(5, 50, { what: 'CloseDoc', commandId: 'two' })];
    const line = lineOf([wire(1, 10), done(2, 20, { fate: 'lost' }), ...after]);
    expect([line?.out?.number, line?.back?.number, line?.lost?.number, line?.hasCarried]).toEqual([1, 2, 2, true]);
  });
});

describe('the lines of the stage', () => {
  const box = (left: number, top: number, width: number, height: number): Box => ({ left, top, right: left + width, bottom: top + height });
  const forms: Record<Form, Places> = {
    wide: {
      width: 1_190,
      till: box(20, 60, 232, 270),
      gateway: box(370, 110, 124, 172),
      terminal: box(720, 90, 176, 356),
      register: box(950, 370, 208, 74),
      paper: box(950, 20, 208, 350),
    },
    middle: {
      width: 800,
      till: box(20, 40, 200, 270),
      gateway: box(330, 80, 110, 172),
      terminal: box(600, 40, 176, 356),
      register: box(570, 800, 208, 74),
      paper: box(570, 500, 208, 310),
    },
    stacked: {
      width: 356,
      till: box(46, 100, 264, 270),
      gateway: box(90, 460, 176, 150),
      terminal: box(90, 730, 176, 424),
      register: box(74, 1_900, 208, 74),
      paper: box(74, 1_600, 208, 310),
    },
  };

  it.each(Object.keys(forms) as Form[])('stay on the stage and begin and end at the things they join: %s', (form) => {
    const places = forms[form];
    const routes = routesOf(form, places);
    for (const [name, route] of Object.entries(routes)) {
      const numbers = route.path.match(/-?[\d.]+/g)?.map(Number) ?? [];
      const xs = numbers.filter((_, index) => index % 2 === 0);
      expect(Math.min(...xs), name).toBeGreaterThanOrEqual(0);
      expect(Math.max(...xs), name).toBeLessThanOrEqual(places.width);
      const from = name === 'ask' || name === 'tell' ? places.till : places.gateway;
      const to = name.startsWith('terminal') ? places.terminal : name.startsWith('register') ? places.register : places.gateway;
      const touches = (thing: Box, x = NaN, y = NaN) => x >= thing.left && x <= thing.right && y >= thing.top && y <= thing.bottom;
      expect(touches(from, numbers[0], numbers[1]), `${name} begins`).toBe(true);
      expect(touches(to, numbers.at(-2), numbers.at(-1)), `${name} ends`).toBe(true);
    }
  });

  it('choose their form by the room there is, and turn with round corners', () => {
    expect([356, 800, 1_190].map(formOf)).toEqual(['stacked', 'middle', 'wide']);
    expect(
      pathOf([
        [0, 0],
        [0, 50],
        [80, 50],
      ]),
    ).toBe('M0 0L0 38Q0 50 12 50L80 50');
  });
});

it.each([
  ['refused', 50, 'refused'],
  ['refused', 30, 'notBegun'],
  ['refused', 31, 'notBegun'],
  ['refused', 40, 'notBegun'],
  ['unknown', 41, 'unknown'],
  ['done', 0, 'done'],
] as const)('a sale that is %s after errorCode %i is shown as %s: only the device or its bank declines', (state, errorCode, outcome) => {
  expect(outcomeOf({ state, errorCode })).toBe(outcome);
});
