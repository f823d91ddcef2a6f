// What a step means for the money, as a tone. By its kind, which the gateway gives.
import type { Step } from '../api/views.ts';

export type StepTone = 'plain' | 'ok' | 'warn' | 'bad' | 'faint';

const tones: Readonly<Record<string, StepTone>> = {
  settled: 'ok',
  settledDone: 'ok',
  delivered: 'ok',
  callbackDelivered: 'ok',
  invoicePaid: 'ok',
  channelLost: 'warn',
  unknown: 'warn',
  unclear: 'warn',
  timedOut: 'warn',
  callbackFailed: 'bad',
  callbackRefused: 'bad',
  callbackDead: 'bad',
  contradiction: 'bad',
  review: 'bad',
  late: 'faint',
  ignored: 'faint',
};

export function toneOfStep(step: Step): StepTone {
  return tones[step.kind] ?? (step.isLost ? 'warn' : 'plain');
}
