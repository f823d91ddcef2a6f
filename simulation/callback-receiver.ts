// The ERPs that receive callbacks: each of a few hosts is healthy, slow, broken, down, or answers after the time-out, and changes
// its state in the course of the day. It records the received callbacks and the order of the first attempts [D26].
import type { AttemptResult, Send } from '../src/callbacks/sender.ts';
import type { Random } from '../src/kernel/random.ts';
import type { EventClock } from './event-clock.ts';
import type { Plan } from './plan.ts';
import type { Standstill } from './standstill.ts';

type Mood = 'well' | 'slow' | 'broken' | 'away' | 'silent' | 'late';

export interface CallbackReceiver {
  sendFor(instanceId: string, standstill: Standstill): Send;
  /** Its connections are closed. */
  died(instanceId: string): void;
  /** The template for one subject's callbacks. */
  template(): string;
  /** Ids of received callbacks. */
  readonly received: ReadonlySet<string>;
  readonly counts: Record<Mood, number>;
}

interface Deps {
  clock: EventClock;
  random: Random;
  plan: Plan;
  state: { isCalm: boolean };
  trace(line: string): void;
  violated(sentence: string): void;
}

interface Exchange {
  id: string;
  sequence: number;
  instanceId: string;
}

const hosts = ['erp-one.example', 'erp-two.example', 'erp-three.example'];
const badMoods: readonly Mood[] = ['slow', 'broken', 'away', 'silent', 'late'];
/** As the real sender's. */
const attemptTimeoutMs = 15_000;

export function createCallbackReceiver(deps: Deps): CallbackReceiver {
  const { clock, random, plan, state, trace, violated } = deps;
  const received = new Set<string>();
  const counts: Record<Mood, number> = { well: 0, slow: 0, broken: 0, away: 0, silent: 0, late: 0 };
  const moods = new Map<string, { mood: Mood; untilMs: number }>();
  const tried = new Set<string>();
  const newestTried = new Map<string, number>();
  const delivered = new Set<string>();
  const open = new Map<string, Set<Exchange>>();

  const between = (fromMs: number, toMs: number) => Math.floor(fromMs + random.fraction() * (toMs - fromMs));
  const pause = (ms: number) => new Promise<void>((resolve) => clock.after(ms, resolve));

  function moodOf(host: string): Mood {
    if (state.isCalm) return 'well';
    const known = moods.get(host);
    if (known && known.untilMs > clock.elapsed()) return known.mood;
    const isBad = random.fraction() < plan.badErpRate;
    const mood = isBad ? (badMoods[Math.floor(random.fraction() * badMoods.length)] as Mood) : 'well';
    moods.set(host, { mood, untilMs: clock.elapsed() + between(10_000, isBad ? 240_000 : 360_000) });
    return mood;
  }

  /**
   * First attempts arrive in order, and none while an older one is in flight. A second copy of a delivered older one, by a gateway
   * that was frozen and counted as dead, delays nothing.
   */
  function checkOrder(subject: string, exchange: Exchange): void {
    const { id, sequence } = exchange;
    if (tried.has(id)) return;
    tried.add(id);
    const newest = newestTried.get(subject) ?? 0;
    if (sequence < newest) violated(`callback ${sequence} of ${subject} was first tried after callback ${newest}`);
    newestTried.set(subject, Math.max(newest, sequence));
    for (const other of open.get(subject) ?? [])
      if (other.sequence < sequence && !delivered.has(other.id))
        violated(`callback ${sequence} of ${subject} was sent while ${other.sequence} was still under way`);
  }

  async function exchangeWith(host: string, id: string): Promise<AttemptResult> {
    const mood = moodOf(host);
    counts[mood] += 1;
    const result = (status: number | null, error: string | null, durationMs: number): AttemptResult => ({
      status,
      error,
      durationMs,
      responseHead: null,
    });
    const receive = () => void received.add(id);
    switch (mood) {
      case 'well':
      case 'slow': {
        const ms = mood === 'well' ? between(2, 200) : between(2_000, 14_000);
        await pause(ms);
        receive();
        return result(200, null, ms);
      }
      case 'broken':
        await pause(20);
        return result(500, null, 20);
      case 'away':
        await pause(10);
        return result(null, 'The connection was refused.', 10);
      case 'silent':
        await pause(attemptTimeoutMs);
        return result(null, 'No answer within 15 s.', attemptTimeoutMs);
      case 'late':
        clock.after(attemptTimeoutMs + between(1_000, 20_000), receive);
        await pause(attemptTimeoutMs);
        return result(null, 'No answer within 15 s.', attemptTimeoutMs);
    }
  }

  return {
    received,
    counts,
    template: () => `http://${hosts[Math.floor(random.fraction() * hosts.length)]}/?id=#OID#&state=#State#&receipt=#ReceiptID#`,
    sendFor:
      (instanceId, standstill) =>
      async ({ id, sequence, url }) => {
        const { host, searchParams } = new URL(url);
        const subject = searchParams.get('id') ?? '';
        const exchange = { id, sequence, instanceId };
        checkOrder(subject, exchange);
        const underWay = open.get(subject) ?? new Set();
        open.set(subject, underWay.add(exchange));
        const result = await exchangeWith(host, id);
        underWay.delete(exchange);
        if (result.status === 200) delivered.add(id);
        if (underWay.size === 0) open.delete(subject);
        trace(`callback ${sequence} of ${subject} ${searchParams.get('state')}: ${result.status ?? result.error}`);
        if (standstill.isOn) await standstill.ended();
        return result;
      },
    died(instanceId) {
      for (const exchanges of open.values())
        for (const exchange of exchanges) if (exchange.instanceId === instanceId) exchanges.delete(exchange);
    },
  };
}
