// Steps to a dispute in the shop of sale-world.ts: the answer is lost, an operator decides, and the device is back and contradicts.
import { expect } from 'vitest';
import type { AnswerMessage } from '../../src/link/wire-schemas.ts';
import type { SaleWorld } from './sale-world.ts';
import { until } from './until.ts';

export const isRecalled = (answer: AnswerMessage) => answer.report?.['state'] !== undefined;
/** The device denies all that it is asked about. */
export const denies = (answer: AnswerMessage): AnswerMessage => (isRecalled(answer) ? { ...answer, report: { state: 'never' } } : answer);
export const asItIs = (answer: AnswerMessage): AnswerMessage => answer;

export function disputesIn(current: () => SaleWorld) {
  const decide = (id: string, state: 'done' | 'refused', more: { closesReview?: boolean; operationId?: string; rrn?: string } = {}) =>
    current().meanwhile(current().ledger.decide(id, { state, reason: 'It is said so.', actor: 'ana', ...more }));

  /** It is back, and is asked about all that was decided. */
  async function isBack(deviceId: string, says: (answer: AnswerMessage) => AnswerMessage | undefined = asItIs) {
    const world = current();
    world.onAnswer = says;
    world.setAway(deviceId, false);
    await world.clock.advance(60_000);
  }

  return {
    decide,
    resolve: (id: string, state: 'done' | 'refused') => decide(id, state, { closesReview: true }),
    /** The answer is lost and the device away: it is decided by an operator. */
    async decided(deviceId: string, call: () => ReturnType<SaleWorld['pay']>, state: 'done' | 'refused', numbers: object = {}) {
      const world = current();
      world.onAnswer = () => undefined;
      expect((await world.run(call())).code).toBe(3);
      world.setAway(deviceId, true);
      await world.clock.advance(20 * 60_000);
      const { id } = await world.lastCommand();
      await decide(id, state, numbers);
      return id;
    },
    isBack,
    /** Without a word about what was decided. */
    isBackSilent: (deviceId: string) => isBack(deviceId, (answer) => (isRecalled(answer) ? undefined : answer)),
    async paidOn(deviceId: string, isClosed: boolean, lei = 10) {
      const world = current();
      const documentNr = world.random.uuid();
      const { oid, report } = await world.run(world.pay(deviceId, lei, documentNr));
      const named = { merchantId: world.merchantId, deviceId, documentNr, operationId: String(report?.['operationId']) };
      if (isClosed) expect((await world.run(world.cards.closeDoc(named))).code).toBe(0);
      return { id: String(oid), named, token: String(report?.['token']), rrn: String(report?.['rrn']) };
    },
    /** What the timeline lists as not undone. */
    remainsOf: async (id: string) =>
      (await current().ledger.timelineOf(id)).filter(({ step }) => step === 'not undone').map(({ detail }) => detail),
  };
}

interface Shop {
  onAnswer: SaleWorld['onAnswer'];
  life: Pick<SaleWorld['life'], 'ledger'>;
  lastCommand: SaleWorld['lastCommand'];
  sayAs: SaleWorld['sayAs'];
}

/**
 * In real time, too: the device has finished the command and cannot tell how, so an operator decides at once [D63]; then it contradicts, by
 * `contradict`.
 */
export async function decidedAtOnce(world: Shop, deviceId: string, call: () => Promise<unknown>, state: 'done' | 'refused') {
  let truth: AnswerMessage | undefined;
  world.onAnswer = (answer) => {
    if (answer.outcome !== 'done') return answer;
    if (!isRecalled(answer)) truth = answer;
    const { report: _report, ...rest } = answer;
    return { ...rest, outcome: 'unknown' };
  };
  await call();
  const { id } = await world.lastCommand();
  if (truth?.id !== id) throw new Error('The device did not carry the command out.');
  const { report, ...rest } = truth;
  const [operationId, rrn, token] = ['operationId', 'rrn', 'token'].map((name) => String(report?.[name]));
  const entered = state === 'done' ? { operationId, rrn } : {};
  await world.life.ledger.decide(id, { state, reason: 'It is said so.', actor: 'ana', ...entered });
  // What it is asked meanwhile has no answer.
  world.onAnswer = (answer) => (isRecalled(answer) ? undefined : answer);
  return {
    id,
    ...{ operationId, token },
    async contradict() {
      // Again and again, as a device does: a gateway that is busy with the operation may not keep a late answer.
      await until(async () => {
        world.sayAs(deviceId, state === 'done' ? { ...rest, outcome: 'refused' } : { ...rest, ...(report ? { report } : {}) });
        return (await world.life.ledger.find(id))?.state === 'disputed';
      });
      world.onAnswer = asItIs;
    },
  };
}
