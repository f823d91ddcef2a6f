import { describe, expect, it } from 'vitest';
import { type InvoiceDeps, transitionOf, withCurrent } from '../../src/invoices/move.ts';
import type { InvoiceFacts } from '../../src/invoices/read-batch.ts';
import {
  checkReceiptId,
  checkText,
  type Facts,
  isOverdue,
  judge,
  noSuchInvoice,
  refusal,
  type State,
  stateNames,
  states,
  type Trigger,
  transitions,
} from '../../src/invoices/rules.ts';
import { GatewayError } from '../../src/kernel/error-codes.ts';

const allStates = Object.values(states);
const allTriggers: Trigger[] = ['scan', 'charge', 'pay', 'expire', 'cancel'];

/** The specification's table and the decisions, written down a second time by hand: state, trigger, time is up, same payment -> outcome. */
function expected(state: State, trigger: Trigger, isTimeUp: boolean, isSamePayment: boolean): State | 'refuse' {
  const isLive = state === 0 || state === 1;
  if (trigger === 'expire') return isLive && isTimeUp ? 3 : 'refuse';
  if (trigger === 'pay' && state === 2) return isSamePayment ? 2 : 'refuse';
  if (!isLive || isTimeUp) return 'refuse';
  if (trigger === 'scan') return 1;
  if (trigger === 'charge') return state;
  if (trigger === 'cancel') return 4;
  return state === 1 ? 2 : 'refuse';
}

describe('the life of an invoice', () => {
  const cases = allStates.flatMap((state) =>
    allTriggers.flatMap((trigger) =>
      [false, true].flatMap((isTimeUp) => [false, true].map((isSamePayment) => ({ state, trigger, isTimeUp, isSamePayment }))),
    ),
  );

  it.each(cases)('$state by $trigger, time up $isTimeUp, same payment $isSamePayment', ({ state, trigger, isTimeUp, isSamePayment }) => {
    const verdict = judge({ state, isTimeUp, isSamePayment }, trigger);
    const outcome = expected(state, trigger, isTimeUp, isSamePayment);
    if (outcome === 'refuse') expect(verdict).toEqual({ kind: 'refuse' });
    else if (outcome === state) expect(verdict).toEqual({ kind: 'stay' });
    else expect(verdict).toMatchObject({ kind: 'move', transition: { from: state, trigger, to: outcome } });
  });

  it.each([
    { standing: 'in doubt', isPayee: true, scan: 'refuse' },
    { standing: 'in doubt', isPayee: false, scan: 'refuse' },
    { standing: 'done', isPayee: true, scan: 'move' },
    { standing: 'done', isPayee: false, scan: 'refuse' },
  ] as const)('with a card payment that is $standing is neither cancelled nor expired [D142]', ({ standing, isPayee, scan }) => {
    const facts = { state: states.newItem, isTimeUp: true, payment: { standing, deviceIds: ['d'] }, isPayee };
    expect(judge(facts, 'scan').kind).toBe(scan);
    expect(judge({ ...facts, state: states.scanned }, 'scan').kind).toBe(scan === 'move' ? 'stay' : 'refuse');
    expect(judge(facts, 'cancel').kind).toBe('refuse');
    expect(judge({ ...facts, isTimeUp: false }, 'cancel').kind).toBe('refuse');
    expect(isOverdue(facts)).toBe(false);
    // A payment of another device beside one that is done is a second one [D246].
    const isSecond = standing === 'done' && !isPayee;
    expect(judge({ ...facts, state: states.scanned }, 'pay').kind).toBe(isSecond ? 'refuse' : 'move');
    expect(judge({ ...facts, state: states.paid, isSamePayment: true }, 'pay').kind).toBe('stay');
    // The claim of the documentNr refuses a second charge, with the OID of the first [D13].
    expect(judge({ ...facts, isTimeUp: false }, 'charge').kind).toBe('stay');
    expect(refusal(facts, 'cancel').message).toContain('CancelTransaction');
    expect(refusal(facts, 'scan').message).toContain(standing === 'done' ? 'was paid by card' : 'not known yet');
  });

  it('has one row at most for a state, a trigger and a condition', () => {
    const names = transitions.map((row) => `${row.from} ${row.trigger} ${row.condition}`);
    expect(new Set(names).size).toBe(names.length);
  });

  it('only moves forward', () => {
    for (const { from, to } of transitions) expect(to).toBeGreaterThanOrEqual(from);
  });

  it('numbers and names the states as the specification does', () => {
    expect(allStates.map((state) => [state, stateNames[state]])).toEqual([
      [0, 'NewItem'],
      [1, 'Scanned'],
      [2, 'Payed'],
      [3, 'Expired'],
      [4, 'Cancelled'],
    ]);
  });

  it('is overdue only while it is unpaid', () => {
    const overdue = allStates.filter((state) => isOverdue({ state, isTimeUp: true } satisfies Facts));
    expect(overdue).toEqual([0, 1]);
    expect(allStates.some((state) => isOverdue({ state, isTimeUp: false }))).toBe(false);
  });

  it('refuses with 22 and the state of the invoice', () => {
    const paid = { state: states.paid, isTimeUp: true };
    expect(refusal(paid, 'scan')).toMatchObject({ errorName: 'The_status_cannot_be_applied' });
    expect(refusal(paid, 'scan').message).toContain('Payed');
    expect(refusal({ ...paid, payment: { standing: 'done', deviceIds: ['d'] } }, 'scan').message).toContain('Payed');
    expect(refusal({ state: states.newItem, isTimeUp: false }, 'pay').message).toContain('NewItem');
    expect(refusal({ state: states.newItem, isTimeUp: true }, 'charge').message).toContain('Expired');
  });
});

describe('a caller about an invoice', () => {
  const found: InvoiceFacts = {
    oid: 'o',
    merchantId: 'm',
    qrSecretId: 1,
    callbackUri: null,
    state: states.newItem,
    receiptId: null,
    paidDeviceId: null,
    isTimeUp: false,
    hasPayments: false,
  };
  const ask = (looks: (typeof found | undefined)[], step: () => Promise<string | undefined>) =>
    withCurrent({ database: {} } as InvoiceDeps, async () => looks.shift(), step);

  it('reads again after a lost race, eight times at most', async () => {
    let steps = 0;
    const losing = async () => {
      steps += 1;
      return undefined;
    };
    await expect(
      ask(
        Array.from({ length: 20 }, () => found),
        losing,
      ),
    ).rejects.toThrow('kept changing');
    expect(steps).toBe(8);
    expect(await ask([found, found], async () => ((steps += 1) > 9 ? 'mine' : undefined))).toBe('mine');
  });

  it('is answered that there is none, also when it was removed during the call', async () => {
    await expect(ask([], async () => 'x')).rejects.toMatchObject({ errorName: 'Record_not_exist' });
    await expect(ask([found], async () => undefined)).rejects.toMatchObject({ errorName: 'Record_not_exist' });
    expect(noSuchInvoice()).toBeInstanceOf(GatewayError);
  });

  it('gets no move that the table does not list', () => {
    expect(() => transitionOf({ state: states.paid, isTimeUp: false }, 'scan')).toThrow('No move by scan from Payed');
    expect(transitionOf(found, 'scan').to).toBe(states.scanned);
  });
});

describe('a text that is named', () => {
  it.each(['', 'x'.repeat(129), '😀'.repeat(129), 'a\r\nb', 'a\u0000', '\ud83d'])('is refused: %j', (text) => {
    expect(() => checkText('PointOfSalesCode', text, 128)).toThrow('PointOfSalesCode must be a text of 1 to 128 characters');
  });
  it.each(['1', 'x'.repeat(128), '😀'.repeat(128), 'a & b #State#', 'č'])('is taken as it is: %j', (text) => {
    expect(checkText('PointOfSalesCode', text, 128)).toBe(text);
  });
});

describe('a ReceiptID', () => {
  it.each(['1', 'x'.repeat(128), '😀'.repeat(128), 'A&B #State#', 'a\r\nb', '\t'])(
    'is taken as it is, because the money was taken: %j',
    (text) => {
      expect(checkReceiptId(text)).toBe(text);
    },
  );
  it.each(['', 'x'.repeat(129), '😀'.repeat(129), 'a\u0000', '\ud83d'])('is refused where no database could keep it: %j', (text) => {
    expect(() => checkReceiptId(text)).toThrow('ReceiptID must be a text of 1 to 128 characters');
  });
});
