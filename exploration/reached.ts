// What every full run must have reached: each kind of event with each answer, and each invariant in a state in which it is interesting. A
// search that never meets a situation proves nothing about it.
import { invariants } from './invariants.ts';
import type { Met } from './search.ts';

/**
 * Answers by kind of event; `-`: no caller is answered. Not in any world: the sale in one call, restored ledgers.
 */
const expected: Readonly<Record<string, readonly string[]>> = {
  AbortRefused: ['The_status_cannot_be_applied'],
  Accepted: ['-', 'Timeout_or_no_response'],
  CancelInvoice: ['NoError', 'Record_not_exist', 'The_status_cannot_be_applied'],
  CancelTransaction: [
    'Device_Busy',
    'Device_Offline',
    'NoError',
    'Record_not_exist',
    'Refused_By_Device',
    'The_status_cannot_be_applied',
    'Timeout_or_no_response',
  ],
  CloseByHand: ['NoError'],
  CloseDay: ['Device_Busy', 'NoError', 'Refused_By_Device', 'Timeout_or_no_response'],
  CloseDoc: ['Device_Busy', 'Device_Offline', 'NoError', 'Refused_By_Device', 'The_status_cannot_be_applied', 'Timeout_or_no_response'],
  Create: ['NoError'],
  Deadline: ['Timeout_or_no_response'],
  'Decide done': ['NoError'],
  'Decide not done': ['NoError'],
  'Delivery missed': ['-', 'NoError', 'Refused_By_Device', 'Timeout_or_no_response'],
  'Delivery received': ['-', 'Device_Offline', 'NoError', 'Refused_By_Device'],
  Expire: ['-'],
  Get: ['NoError', 'Record_not_exist', 'The_status_cannot_be_applied'],
  HardwareLost: ['NoError', 'The_status_cannot_be_applied'],
  LastIsAnother: ['-', 'NoError', 'Refused_By_Device', 'The_status_cannot_be_applied', 'Timeout_or_no_response'],
  MoneyIn: ['Device_Busy', 'NoError', 'Refused_By_Device', 'Timeout_or_no_response'],
  Pay: ['Device_Busy', 'Device_Offline', 'NoError', 'Refused_By_Device', 'The_status_cannot_be_applied', 'Timeout_or_no_response'],
  Payd: ['NoError', 'Record_not_exist', 'The_status_cannot_be_applied'],
  Print: ['Device_Busy', 'NoError', 'Record_not_exist', 'The_status_cannot_be_applied', 'Timeout_or_no_response'],
  Refund: [
    'Device_Busy',
    'Device_Offline',
    'Invalid_Request',
    'NoError',
    'Refused_By_Device',
    'The_status_cannot_be_applied',
    'Timeout_or_no_response',
  ],
  Remove: ['-', 'NoError', 'The_status_cannot_be_applied', 'Timeout_or_no_response'],
  RemoveInvoice: ['-'],
  Report: ['Device_Busy', 'NoError', 'Refused_By_Device', 'Timeout_or_no_response'],
  'Report busy': ['Device_Busy', 'The_status_cannot_be_applied', 'Timeout_or_no_response'],
  'Report done': ['-', 'NoError', 'The_status_cannot_be_applied', 'Timeout_or_no_response'],
  'Report never': ['-', 'Device_Offline', 'NoError', 'Refused_By_Device', 'The_status_cannot_be_applied', 'Timeout_or_no_response'],
  'Report refused': ['-', 'Refused_By_Device', 'The_status_cannot_be_applied', 'Timeout_or_no_response'],
  'Report unknown': ['NoError', 'Refused_By_Device', 'The_status_cannot_be_applied', 'Timeout_or_no_response'],
  Status: ['Device_Busy', 'Device_Offline', 'NoError', 'Refused_By_Device', 'The_status_cannot_be_applied', 'Timeout_or_no_response'],
};

export function unreached({ reached, interesting }: Met): string[] {
  const names = Object.values(invariants).flatMap((group) => Object.keys(group));
  return [
    ...Object.entries(expected).flatMap(([event, codes]) => codes.map((code) => `${event} ${code}`).filter((place) => !reached[place])),
    ...names.filter((name) => !interesting[name]).map((name) => `the invariant "${name}" was never interesting`),
  ];
}
