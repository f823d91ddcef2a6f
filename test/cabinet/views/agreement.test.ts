// Invariants 4 and 5 of the core on a real database, with the real API and the real cabinet, in the last state of every transcript: the State
// by each name, the headline and the badges agree; a step that the page offers is accepted, and one that it does not offer is refused with the
// sentence that the page shows; what a sentence advises is accepted.
import { globSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runTranscript } from '../../../exploration/transcripts.ts';
import { opsOf, type State } from '../../../exploration/world.ts';
import { baniToLei } from '../../../src/kernel/money.ts';
import type { Op } from '../../../src/money/case.ts';
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

  it.each(transcripts)('%s', async (name) => {
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
    ])
      expect(counted[what], what).toBeGreaterThan(3);
  });

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

  /** What the sentence of an answer advises is accepted; whether its terminal is free just now is another question. */
  async function answerAdvice(answer: Answered): Promise<void> {
    const { errorMessage, OID } = answer;
    if (/Ask GET Device\/Operation\/Status with this OID/.test(errorMessage)) {
      count('advice of an answer');
      expect((await shop.status('OID', OID ?? '')).OID).toBe(OID);
    }
  }
});
