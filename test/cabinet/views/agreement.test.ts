// Invariants 4 and 5 of the core on a real database, with the real API and the real cabinet, in the last state of every transcript: the State
// by each name, the headline and the badges agree; a step that the page offers is accepted, and one that it does not offer is refused with the
// sentence that the page shows; what a sentence advises is accepted.
import { globSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runTranscript } from '../../../exploration/transcripts.ts';
import { opsOf, type State } from '../../../exploration/world.ts';
import { baniToLei } from '../../../src/kernel/money.ts';
import type { Op } from '../../../src/money/case.ts';
import { byDayOrNight } from '../../support/at-length.ts';
import { engines } from '../../support/engines.ts';
import { type Answered, createTranscriptShop, numberOf, type TranscriptShop, uuidOf } from './transcript-shop.ts';

interface Said {
  key: string;
  params: Record<string, string>;
}
interface Step {
  action: string;
  isAllowed: boolean;
  whyNot?: Said;
  maxAmount?: number;
  closesReview?: boolean;
  contradiction?: string;
}
interface Page extends Answered {
  command: { shownState: string };
  outcome: Said;
  advice: Said;
  marks: { key: string }[];
  raw: { answer?: Record<string, unknown> };
  related: { others: { id: string }[] };
  steps: Step[];
}

const directory = new URL('../../money/', import.meta.url);
const transcripts = globSync('*.txt', { cwd: directory }).sort();
const everyEighth = transcripts.filter((_, at) => at % 8 === 0);
const lastState = (name: string) => runTranscript(readFileSync(new URL(name, directory), 'utf8')).states.at(-1) as State;

const english = JSON.parse(readFileSync(new URL('../../../web/src/i18n/en.json', import.meta.url), 'utf8')) as {
  whyNot: Record<string, string>;
};
function sentenceOf({ key, params }: Said): string {
  const text = english.whyNot[key.replace('whyNot.', '')] ?? expect.fail(`no text ${key}`);
  return text.replaceAll(/\{\{(\w+)(?:, \w+)?\}\}/g, (_, name: string) => String(params[name]));
}
const sentenceIn = ({ errorMessage }: Answered) => errorMessage.replace(/^[A-Za-z_]+: /, '');

/** What people read of an operation with this State. While a person must look at it, that comes first. */
const read: Readonly<Record<string, { outcome: RegExp; badge: RegExp }>> = {
  Open: { outcome: /^outcome\.(waiting|unknown|unknownOffline|needsPerson)$/, badge: /^state\.(waiting|unknown|needsPerson)$/ },
  Done: { outcome: /^outcome\.(charged|done|partlyRefunded)/, badge: /^state\.(paid|done|partlyRefunded|refunded|voided)$/ },
  Closed: { outcome: /^outcome\.(charged|partlyRefunded)/, badge: /^state\.(paid|partlyRefunded)$/ },
  Voided: { outcome: /^outcome\.voided$/, badge: /^state\.voided$/ },
  Refunded: { outcome: /^outcome\.refunded$/, badge: /^state\.(refunded|paid)$/ },
  Refused: { outcome: /^outcome\.(declined|stopped|refusedByPerson)$/, badge: /^state\.declined$/ },
  Never: { outcome: /^outcome\.(never|busy)$/, badge: /^state\.(never|busy)$/ },
  Disputed: { outcome: /^outcome\.(contradiction|backDisputed)$/, badge: /^state\.needsPerson$/ },
};
const contradicted = { outcome: /^outcome\.contradiction$/, badge: /^state\.needsPerson$/ };

const counted: Record<string, number> = {};
const count = (what: string) => void (counted[what] = (counted[what] ?? 0) + 1);

describe.each(engines)('what people and ERPs see on %s', (engine) => {
  let shop: TranscriptShop;
  beforeAll(async () => {
    shop = await createTranscriptShop(engine);
  });
  afterAll(() => shop.close());

  // A server takes longer: by day it gets every eighth.
  const asked = engine === 'sqlite' ? transcripts : byDayOrNight(everyEighth, transcripts);
  it.each(asked)('%s', async (name) => {
    const state = lastState(name);
    for (const op of opsOf(state).filter(({ kind }) => kind !== 'Abort')) {
      await shop.fill(state);
      await answersAgree(op);
      await shop.fill(state);
      const page = await pageOf(op);
      pageAgrees(op, page);
      await stepsAgree(state, op, page);
      await pageAdvice(state, op, page);
    }
    await shop.fill(state);
    await keysAgree(state);
    await repeatsAgree(state);
    await stopsAdvise(state);
    await invoicesAgree(state);
  });

  it('offers no return of money while other hardware must confirm a decision about one', async () => {
    const calls = ['Pay t1 n 150.00', 't1 executes p1', 'CloseDoc t1 n op-p1', 't1 executes c1', 'CancelTransaction t1 n op-p1 150.00'];
    const unclear = ['t1 executes v1, its answer is lost', 'the last moment of v1 passes', '3 minutes pass'];
    const after = ['an operator decides: v1 not executed', 't1 is replaced by other hardware'];
    const { states } = runTranscript(['world terminals t1', ...[...calls, ...unclear, ...after].map((line) => `> ${line}`)].join('\n'));
    const state = states.at(-1) as State;
    const [payment] = opsOf(state);
    await shop.fill(state);
    const page = await pageOf(payment as Op);
    const whyNot = page.steps.filter(({ action }) => action === 'refund' || action === 'void').map((step) => step.whyNot?.key);
    expect(whyNot).toEqual(['whyNot.otherHardware', 'whyNot.otherHardware']);
    await stepsAgree(state, payment as Op, page);
  });

  it('is compared at all', () => {
    for (const what of [
      'offered',
      'refused',
      'by its number',
      'by its key',
      'also under its number',
      'advice of the page',
      'advice of an answer',
      'advice of a stop',
      'an invoice that can be cancelled',
      'an invoice that cannot',
    ])
      expect(counted[what], what).toBeGreaterThan(1);
  });

  /** The page of an invoice offers to cancel it if that is accepted. */
  async function invoicesAgree(state: State): Promise<void> {
    for (const oid of Object.keys(state.ledger['invoices'] ?? {})) {
      await shop.fill(state);
      const { steps } = (await shop.look(`/invoices/${oid}`)) as Page;
      const { isAllowed, whyNot } = steps.find(({ action }) => action === 'cancel') ?? expect.fail(oid);
      const answer = await shop.act(`/invoices/${oid}/cancel`, { reason: 'seen' });
      count(isAllowed ? 'an invoice that can be cancelled' : 'an invoice that cannot');
      expect(answer.errorCode === 0, answer.errorMessage).toBe(isAllowed);
      if (whyNot) expect(sentenceOf(whyNot)).toBe(sentenceIn(answer));
    }
  }

  const pageOf = async (op: Op) => (await shop.look(`/commands/${uuidOf(op.id)}`)) as Page;

  /** Every State that is named is that of the operation by its OID, and the number names what its OID names. */
  async function answersAgree(op: Op): Promise<void> {
    const byOid = await shop.status('OID', uuidOf(op.id));
    expect(byOid).toMatchObject({ OID: uuidOf(op.id), State: op.standing });
    await namedAgree(byOid);
    const byNumber = op.kind === 'Pay' && op.documentNr !== null ? await shop.status('documentNr', numberOf(op.documentNr)) : undefined;
    const byUid =
      op.kind === 'PrintReceipt' && op.receiptUid !== null ? await shop.status('ReceiptUid', numberOf(op.receiptUid)) : undefined;
    for (const answer of [byNumber, byUid]) {
      if (!answer) continue;
      count('by its number');
      await namedAgree(answer);
    }
  }

  async function namedAgree(answer: Answered): Promise<void> {
    const named = [answer, ...(answer.AlsoUnderThisNumber ?? [])];
    for (const { OID, State } of named) {
      if (OID === undefined || State === undefined) continue;
      expect((await shop.status('OID', OID)).State, answer.errorMessage).toBe(State);
    }
    if (named.length > 1) count('also under its number');
    await answerAdvice(answer);
  }

  async function keysAgree({ ledger }: State): Promise<void> {
    for (const row of Object.values(ledger['idempotency_keys'] ?? {})) {
      const answer = await shop.status('IdempotencyKey', String(row['key']));
      if (answer.errorCode === 20) continue;
      count('by its key');
      await namedAgree(answer);
    }
  }

  /** Another attempt under the number of a payment whose money the shop may have is answered as the number is. */
  async function repeatsAgree(state: State): Promise<void> {
    const payments = opsOf(state).filter(({ kind, documentNr }) => kind === 'Pay' && documentNr !== null);
    for (const { documentNr, deviceId, amountBani, standing } of payments) {
      if (!['Done', 'Closed', 'Voided', 'Refunded'].includes(standing)) continue;
      await shop.fill(state);
      const byNumber = await shop.status('documentNr', numberOf(String(documentNr)));
      const again = { DeviceID: uuidOf(deviceId), documentNr: numberOf(String(documentNr)), amount: baniToLei(amountBani ?? 0) };
      const repeated = await shop.erp('/Device/payment/Pay', again);
      expect(shop.sent).toEqual([]);
      if (repeated.State !== undefined) await namedAgree(repeated);
      if (repeated.OID === byNumber.OID && repeated.errorCode === 0) expect(repeated.State).toBe(byNumber.State);
    }
  }

  function pageAgrees(op: Op, { outcome, marks, raw, related }: Page): void {
    const isInReview = op.review !== null && !op.review.isClosed && op.state !== 'sent' && op.state !== 'unknown';
    const wanted = isInReview ? contradicted : (read[op.standing] ?? expect.fail(op.standing));
    // A refund or void that was made has the name of what it did.
    expect(outcome.key, `${op.id} ${op.standing}`).toMatch(wanted.outcome);
    expect(marks[0]?.key, `${op.id} ${op.standing}`).toMatch(wanted.badge);
    if (raw.answer) expect(raw.answer['State']).toBe(op.standing);
    const also = (raw.answer?.['AlsoUnderThisNumber'] ?? []) as { OID: string }[];
    if (raw.answer && op.kind === 'Pay') expect(related.others.map(({ id }) => id).sort()).toEqual(also.map(({ OID }) => OID).sort());
  }

  /** Each step of the page is taken in the state that the page shows. */
  async function stepsAgree(state: State, op: Op, page: Page): Promise<void> {
    for (const step of page.steps.filter(({ action }) => action !== 'resend' && action !== 'ask')) {
      await shop.fill(state);
      const answer = await take(op, step);
      const isAccepted = answer.errorCode === 0 || shop.sent.length > 0;
      const about = `${op.kind} ${op.id} ${op.standing}: ${step.action}`;
      if (step.isAllowed) {
        count('offered');
        expect({ isAccepted, sentence: answer.errorMessage }, about).toMatchObject({ isAccepted: true });
        continue;
      }
      count('refused');
      // A CloseDoc of a closed document is answered as its repeat.
      if (step.action === 'close' && answer.errorCode === 0 && op.document !== 'open') continue;
      expect(isAccepted, about).toBe(false);
      const whyNot = step.whyNot ?? expect.fail(about);
      expect(whyNot.key, about).not.toBe('whyNot.said');
      expect(sentenceOf(whyNot), about).toBe(sentenceIn(answer));
    }
    const ask = page.steps.find(({ action }) => action === 'ask');
    await shop.fill(state);
    expect((await shop.act(`/commands/${uuidOf(op.id)}/ask`)).errorCode === 0, `${op.id}: ask`).toBe(ask?.isAllowed);
  }

  function take(op: Op, { action, maxAmount, closesReview, contradiction }: Step): Promise<Answered> {
    const path = `/commands/${uuidOf(op.id)}`;
    switch (action) {
      case 'refund':
        return shop.act(`${path}/refund`, { amount: maxAmount ?? Math.max(0.01, baniToLei((op.amountBani ?? 0) - op.refundedBani)) });
      case 'closeByHand':
        return shop.act(`${path}/close-document`, { reason: 'seen' });
      case 'decide':
        return shop.act(`${path}/decide`, { state: 'refused', reason: 'seen', ...(closesReview ? { closesReview, contradiction } : {}) });
      default:
        return shop.act(`${path}/${action}`);
    }
  }

  const isFree = (answer: Answered) => ![30, 31].includes(answer.errorCode);

  /** What the advice of the page names is offered, or not just now because its device is away or busy. */
  async function pageAdvice(state: State, op: Op, { advice, steps, related }: Page): Promise<void> {
    const offered = (action: string) => steps.find((step) => step.action === action)?.isAllowed === true;
    const isHere = state.live[op.deviceId] !== undefined;
    const about = `${op.kind} ${op.id} ${op.standing}: ${advice.key}`;
    count('advice of the page');
    switch (advice.key) {
      case 'advice.closeDocument':
        return expect(offered('closeByHand') && (offered('close') || !isHere || isHeld(state, op)), about).toBe(true);
      case 'advice.compare':
      case 'advice.compareSettled':
        return expect(offered('decide'), about).toBe(true);
      case 'advice.decide':
      case 'advice.decideOther':
        return expect(offered('decide') || steps.some(({ whyNot }) => whyNot?.key === 'whyNot.running'), about).toBe(true);
      case 'advice.chargedTwice':
      case 'advice.mayBeChargedTwice':
      case 'advice.otherAttempt':
      case 'advice.otherPayment':
        return expect(related.others.length, about).toBeGreaterThan(0);
      case 'advice.anotherCard':
      case 'advice.tryAgain': {
        if (op.kind !== 'Pay' || op.documentNr === null) return;
        await shop.fill(state);
        const amount = baniToLei(op.amountBani ?? 0);
        const again = await shop.erp('/Device/payment/Pay', { DeviceID: uuidOf(op.deviceId), amount, documentNr: numberOf(op.documentNr) });
        if (isFree(again)) expect(shop.sent.length, `${about}, ${again.errorMessage}`).toBe(1);
        return;
      }
      default:
        return;
    }
  }

  const isHeld = ({ ledger }: State, { deviceId }: Op) => ledger['device_locks']?.[deviceId]?.['command_id'] !== null;

  /** What the sentence of an answer advises is accepted. */
  async function answerAdvice({ errorMessage, OID = '' }: Answered): Promise<void> {
    if (!/Ask GET Device\/Operation\/Status with this OID/.test(errorMessage)) return;
    count('advice of an answer');
    expect((await shop.status('OID', OID)).OID).toBe(OID);
  }

  /** A call to stop a payment that has ended says how its money can be returned. */
  async function stopsAdvise(state: State): Promise<void> {
    const terminals = Object.keys(state.live).filter((id) => id.startsWith('t'));
    const numbers = new Set(opsOf(state).flatMap(({ kind, documentNr }) => (kind === 'Pay' && documentNr !== null ? [documentNr] : [])));
    for (const number of numbers) {
      for (const terminal of terminals) {
        await shop.fill(state);
        const answer = await shop.erp('/Device/payment/CancelTransaction', stopOf(terminal, number));
        const op = opsOf(state).find(({ id }) => uuidOf(id) === answer.OID);
        if (op) await returnAsAdvised(state, op, answer);
      }
    }
  }

  const stopOf = (deviceId: string, number: string) => {
    const names = { DeviceID: uuidOf(deviceId), documentNr: numberOf(number), operationId: 'none' };
    return { ...names, amount: 1, token: '' };
  };

  async function returnAsAdvised(state: State, op: Op, { errorMessage }: Answered): Promise<void> {
    const left = opsOf(state)
      .filter(({ kind, targetId, standing }) => kind === 'Refund' && targetId === op.id && standing !== 'Refused' && standing !== 'Never')
      .reduce((sum, { amountBani }) => sum - (amountBani ?? 0), op.amountBani ?? 0);
    const named = { DeviceID: uuidOf(op.deviceId), documentNr: numberOf(op.documentNr ?? ''), operationId: op.operationId ?? '' };
    const whole = { ...named, amount: baniToLei(op.amountBani ?? 0), token: '' };
    const calls: [RegExp, string, object][] = [
      [/use CancelTransaction with its whole amount/, '/Device/payment/CancelTransaction', whole],
      [/return what is left with Refund/, '/Device/payment/Refund', { ...named, rrn: op.rrn ?? '', amount: baniToLei(left) }],
      [/stop it there/i, '/Device/payment/CancelTransaction', stopOf(op.deviceId, op.documentNr ?? '')],
    ];
    for (const [pattern, path, body] of calls.filter(([advised]) => advised.test(errorMessage))) {
      await shop.fill(state);
      const answer = await shop.erp(path, body);
      count('advice of a stop');
      // Its device is away or busy, or must first confirm a decision: whether it can be done just now is another question.
      const isLater = !isFree(answer) || /must first confirm|other hardware is connected|Ask GET/.test(answer.errorMessage);
      const isAccepted = answer.errorCode === 0 || shop.sent.length > 0;
      expect(isAccepted || isLater, `${pattern.source} about ${op.id}: ${answer.errorMessage}`).toBe(true);
    }
  }
});
