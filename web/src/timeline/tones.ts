// What a step means for the money, as a tone. By its kind, which the gateway gives.
import type { Step } from '../api/views.ts';

export type StepTone = 'plain' | 'ok' | 'warn' | 'bad' | 'faint';

const tones: Readonly<Record<string, StepTone>> = {
  callbackDelivered: 'ok',
  invoicePayed: 'ok',
  channelLost: 'warn',
  sendUnclear: 'warn',
  unknown: 'warn',
  recallUnanswered: 'warn',
  answerLost: 'warn',
  callerGone: 'warn',
  callbackFailed: 'bad',
  callbackDead: 'bad',
  contradiction: 'bad',
  review: 'bad',
  invoicepaymentrefused: 'bad',
  other: 'faint',
  callbackWaiting: 'faint',
};

export function toneOfStep(step: Step): StepTone {
  if (step.kind === 'settled') return step.text.params?.['state'] === 'done' ? 'ok' : 'plain';
  return tones[step.kind] ?? (step.isLost ? 'warn' : 'plain');
}
