// The rights in the cabinet: one row per operationId of {base_url}/cabinet/api. A route cannot be registered without its row.
// operator: all merchants. merchant: objects, keys, devices and users of the own merchant. viewer: reads one merchant or all.
// `isConfirmed`: needs the password or a code within the last 15 minutes. For operations on money, secrets, keys, users and sessions, and for
// calls that give a device access again.
// `row`: the table of the id in the path. A row of another merchant is answered 20, like a missing one (own-rows.ts checks before the handler).
import type { Role } from '../http/viewer.ts';

export type RowKind = 'merchant' | 'key' | 'device' | 'callback' | 'invoice' | 'command' | 'user';

export interface CallRule {
  who: readonly Role[] | 'public';
  isConfirmed?: boolean;
  /** Open to operators before they have set up required one-time codes. */
  isBeforeTotp?: boolean;
  row?: RowKind;
}

const everyone: readonly Role[] = ['operator', 'merchant', 'viewer'];
const owners: readonly Role[] = ['operator', 'merchant'];
const operators: readonly Role[] = ['operator'];

export const calls = {
  readSession: { who: 'public' },
  signIn: { who: 'public' },
  enterSandbox: { who: 'public' },
  signOut: { who: 'public' },
  confirmSession: { who: everyone, isBeforeTotp: true },
  listSessions: { who: everyone },
  endSession: { who: everyone, isConfirmed: true },
  endAllSessions: { who: operators, isConfirmed: true },
  readLink: { who: 'public' },
  useLink: { who: 'public' },

  listUsers: { who: everyone },
  createUser: { who: owners, isConfirmed: true },
  inviteFirstOperator: { who: operators, isConfirmed: true },
  changeUser: { who: owners, isConfirmed: true, row: 'user' },
  deleteUser: { who: owners, isConfirmed: true, row: 'user' },
  renewUserLink: { who: owners, isConfirmed: true },
  changePassword: { who: everyone },
  startTotp: { who: everyone, isConfirmed: true, isBeforeTotp: true },
  confirmTotp: { who: everyone, isConfirmed: true, isBeforeTotp: true },
  removeTotp: { who: everyone, isConfirmed: true },

  createMerchant: { who: operators, isConfirmed: true },
  listMerchants: { who: everyone },
  rotateSigningSecret: { who: owners, isConfirmed: true, row: 'merchant' },
  sendTestCallback: { who: owners, row: 'merchant' },
  setMerchantShare: { who: operators, row: 'merchant' },

  createKey: { who: owners, isConfirmed: true },
  listKeys: { who: everyone },
  revokeKey: { who: owners, isConfirmed: true, row: 'key' },
  rotateKey: { who: owners, isConfirmed: true, row: 'key' },

  registerDevice: { who: owners, isConfirmed: true },
  listDevices: { who: everyone },
  listDeviceMessages: { who: everyone, row: 'device' },
  askDeviceStatus: { who: owners, row: 'device' },
  askLastTransaction: { who: owners, row: 'device' },
  orderCloseDay: { who: owners, isConfirmed: true, row: 'device' },
  orderXReport: { who: owners, row: 'device' },
  orderZReport: { who: owners, isConfirmed: true, row: 'device' },
  declareHardwareLost: { who: owners, isConfirmed: true, row: 'device' },
  renameDevice: { who: owners, row: 'device' },
  disableDevice: { who: owners, row: 'device' },
  enableDevice: { who: owners, isConfirmed: true, row: 'device' },
  replaceDeviceSecret: { who: owners, isConfirmed: true, row: 'device' },
  issuePairingCode: { who: owners, isConfirmed: true, row: 'device' },

  listCallbacks: { who: everyone },
  readCallback: { who: everyone, row: 'callback' },
  resendCallback: { who: owners, row: 'callback' },
  resendCallbacks: { who: owners },

  listInvoices: { who: everyone },
  exportInvoices: { who: everyone },
  readInvoice: { who: everyone, row: 'invoice' },
  cancelInvoice: { who: owners, row: 'invoice' },
  listOrphans: { who: everyone },
  rotateQrSecret: { who: operators, isConfirmed: true },

  listCommands: { who: everyone },
  totalCommands: { who: everyone },
  exportCommands: { who: everyone },
  search: { who: everyone },
  listReview: { who: everyone },
  readCommand: { who: everyone, row: 'command' },
  decideCommand: { who: owners, isConfirmed: true, row: 'command' },
  refundCommand: { who: owners, isConfirmed: true, row: 'command' },
  voidCommand: { who: owners, isConfirmed: true, row: 'command' },
  closeCommand: { who: owners, isConfirmed: true, row: 'command' },
  askCommand: { who: owners, row: 'command' },
  readDevelopers: { who: everyone },
  readOverview: { who: everyone },
  listShops: { who: everyone },
  readDayClose: { who: everyone },
  exportDayClose: { who: everyone },
  streamEvents: { who: everyone },
  readAttention: { who: everyone },
  noteAttention: { who: owners, isConfirmed: true },
  closeDocumentByHand: { who: owners, isConfirmed: true, row: 'command' },

  listAudit: { who: everyone },
  listInstances: { who: operators },

  readPlayground: { who: everyone },
  setPlaygroundMode: { who: owners, row: 'device' },
  actInPlayground: { who: owners, row: 'device' },
  armPlayground: { who: owners, row: 'device' },
  cutPlaygroundChannel: { who: owners, row: 'device' },
  switchPlaygroundDevice: { who: owners, row: 'device' },
  sellInPlayground: { who: owners },
  invoiceInPlayground: { who: owners },
  scanInPlayground: { who: owners },
  payInvoiceInPlayground: { who: owners },
  refundInPlayground: { who: owners },
  repeatInPlayground: { who: owners },
  switchPlaygroundErp: { who: owners },
  emptyPlaygroundBooks: { who: owners },
  playStory: { who: owners },
  stopStory: { who: owners },
  setStoryMode: { who: owners },
  continueStory: { who: owners },
} as const satisfies Record<string, CallRule>;

export type CabinetCall = keyof typeof calls;

export function ruleOf(call: string): CallRule | undefined {
  return Object.hasOwn(calls, call) ? calls[call as CabinetCall] : undefined;
}
