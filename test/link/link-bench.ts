// A link on two fake channels in virtual time, with one device played by the test.
import type { Delivery, LinkStep } from '../../src/link/carrying/delivery.ts';
import { createLink, type Link } from '../../src/link/link.ts';
import type { Outcome } from '../../src/link/protocol.ts';
import type { AnswerMessage, CommandMessage, RecallReport } from '../../src/link/wire-schemas.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';
import { createFakeChannel, type FakeChannel } from './fake-channel.ts';

export const deviceId = '11111111-1111-4111-8111-111111111111';
export const otherDeviceId = '22222222-2222-4222-8222-222222222222';
export const journalId = '33333333-3333-4333-8333-333333333333';
export const bootId = '44444444-4444-4444-8444-444444444444';
export const commandId = '55555555-5555-4555-8555-555555555555';
export const gatewayId = 'gateway-1';

export interface LinkBench {
  clock: VirtualClock;
  mqtt: FakeChannel;
  queue: FakeChannel;
  link: Link;
  steps: LinkStep[];
  stepNames(): string[];
  /** Its deadlines start now. */
  delivery(overrides?: Partial<Delivery> & { answerWithinMs?: number }): Delivery;
  presence(channel: FakeChannel, extra?: { bootId?: string; journalId?: string | undefined; clockMs?: number; deviceId?: string }): void;
  answer(channel: FakeChannel, outcome: Outcome, extra?: Partial<AnswerMessage>): void;
  /** Answers the newest Recall that was sent on this channel. */
  recalled(channel: FakeChannel, report: RecallReport, extra?: Partial<AnswerMessage>): void;
  commandsOn(channel: FakeChannel, name: string): CommandMessage[];
}

export async function createLinkBench(
  options: { seed?: number; maxWaiting?: number; onExcess?: (deviceId: string, bytes: number) => void } = {},
): Promise<LinkBench> {
  const clock = createVirtualClock(undefined, { settle: 'microtasks' });
  const mqtt = createFakeChannel('mqtt');
  const queue = createFakeChannel('queue');
  const link = createLink({
    clock,
    random: seededRandom(options.seed ?? 1),
    logger: quietLogger,
    gatewayId,
    channels: [mqtt, queue],
    onExcess: options.onExcess,
    ...(options.maxWaiting === undefined ? {} : { maxWaiting: options.maxWaiting }),
  });
  await link.start();
  const steps: LinkStep[] = [];
  const iso = (ms: number) => new Date(ms).toISOString();
  const commandsOn = (channel: FakeChannel, name: string) =>
    channel.sends.map(({ command }) => command).filter((command) => command.name === name);
  return {
    clock,
    mqtt,
    queue,
    link,
    steps,
    stepNames: () =>
      steps.map(({ step, channel, detail }) =>
        [step, channel, step === 'answered' || step === 'recalled' ? detail : undefined].filter(Boolean).join(' '),
      ),
    delivery: ({ answerWithinMs = 300_000, ...overrides } = {}) => ({
      id: commandId,
      deviceId,
      name: 'Pay',
      args: { amount: 10, currency: 'MDL' },
      deadlines: link.deadlines(deviceId, answerWithinMs),
      preferredChannel: 'mqtt',
      journalId,
      onStep: (step) => steps.push(step),
      onAccepted() {},
      ...overrides,
    }),
    presence(channel, extra = {}) {
      const journal = 'journalId' in extra ? extra.journalId : journalId;
      channel.says.presence(extra.deviceId ?? deviceId, {
        v: 1,
        device: extra.deviceId ?? deviceId,
        online: true,
        clock: iso(extra.clockMs ?? clock.now()),
        bootId: extra.bootId ?? bootId,
        ...(journal === undefined ? {} : { journalId: journal }),
        battery: 80,
      });
    },
    answer(channel, outcome, extra = {}) {
      channel.says.answer(extra.device ?? deviceId, {
        v: 1,
        id: commandId,
        device: deviceId,
        clock: iso(clock.now()),
        journalId,
        outcome,
        ...extra,
      });
    },
    recalled(channel, report, extra = {}) {
      const recall = commandsOn(channel, 'Recall').at(-1);
      if (!recall) throw new Error('No Recall was sent on this channel.');
      channel.says.answer(deviceId, {
        v: 1,
        id: recall.id,
        device: deviceId,
        clock: iso(clock.now()),
        journalId,
        outcome: 'done',
        report: { ...report },
        ...extra,
      });
    },
    commandsOn,
  };
}

/** The result, or 'pending'. */
export async function peek<T>(promise: Promise<T>): Promise<T | 'pending'> {
  return Promise.race([promise, new Promise<'pending'>((resolve) => setImmediate(() => resolve('pending')))]);
}
