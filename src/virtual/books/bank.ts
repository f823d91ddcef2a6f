// The bank of a virtual device. Its book is separate from the device's journal and records what was really charged.
// Like a real bank it does not detect duplicates: a device that charges twice has two entries, and tests compare this book with the
// gateway's ledger to the ban.

import type { Bani } from '../../kernel/money.ts';
import type { World } from '../../kernel/world.ts';
import type { JsonObject } from '../../link/protocol.ts';
import type { RecordStore } from '../client/record-store.ts';

export type BankEntryKind = 'charge' | 'approval' | 'decline' | 'refund' | 'void' | 'settlement' | 'document-closed';

export interface BankEntry {
  kind: BankEntryKind;
  /** The id of the command; recovery after a power cut finds entries by it. */
  reference: string;
  atMs: number;
  operationId: string;
  rrn: string;
  authCode: string;
  token: string;
  maskedCard: string;
  amountBani: Bani;
  documentNr?: string;
  /** Of a refund or a void: the original charge. */
  originalId?: string;
  /** The command of that charge, because operation numbers may restart. */
  originalReference?: string;
  /** Of a settlement: the number of charges. */
  count?: number;
  /** Of a settlement: the sum of its charges, and of their refunds. */
  salesBani?: Bani;
  refundsBani?: Bani;
  reason?: string;
}

/** The bank's entry, or the reason of its refusal. */
export type BankAnswer = { entry: BankEntry; refused?: undefined } | { entry?: undefined; refused: string };

/** Refusals because of earlier operations on the payment. The gateway must refuse these before the bank does. */
export const balanceRefusals = {
  voided: 'The operation was voided.',
  voidedBefore: 'The operation was voided before.',
  settled: 'The day is closed; the operation can only be cancelled.',
  overRemainder: 'The amount is more than the remainder of the operation.',
  partlyRefunded: 'A part of the operation was refunded.',
} as const;

export interface ChargeState {
  entry: BankEntry;
  refundedBani: Bani;
  isVoided: boolean;
  isSettled: boolean;
}

export type Bank = Awaited<ReturnType<typeof openBank>>;

export interface BankOptions extends Pick<World, 'clock' | 'random'> {
  store: RecordStore;
  name: string;
  /** Operation numbers restart after every settlement, as at some banks [D16]. */
  restartsNumbers?: boolean | undefined;
}

interface Request {
  /** The id of the command. */
  reference: string;
  amountBani: Bani;
}

type Closing = Pick<Request, 'reference'> & { operationId: string; documentNr: string };

/** What an entry about an earlier charge has of it: its card, too. */
const about = ({ entry: { operationId, reference, maskedCard } }: ChargeState) => ({
  originalId: operationId,
  originalReference: reference,
  maskedCard,
});

const digits = (random: World['random'], count: number) => Array.from(random.bytes(count), (byte) => String(byte % 10)).join('');

export async function openBank({ store, clock, random, name, restartsNumbers = false }: BankOptions) {
  const { records, isDamaged } = await store.load();
  if (isDamaged) throw new Error('The bank book is damaged.');
  const book = records as unknown as BankEntry[];
  const charges: ChargeState[] = [];
  const byOperation = new Map<string, ChargeState[]>();
  let lastNumber = 0;
  for (const entry of book) post(entry);

  function post(entry: BankEntry): void {
    lastNumber = restartsNumbers && entry.kind === 'settlement' ? 0 : Number(entry.operationId);
    if (entry.kind === 'charge') {
      const charge = { entry, refundedBani: 0, isVoided: false, isSettled: false };
      charges.push(charge);
      byOperation.set(entry.operationId, [...(byOperation.get(entry.operationId) ?? []), charge]);
    }
    if (entry.kind === 'settlement') for (const charge of charges) charge.isSettled = true;
    const { originalId, originalReference } = entry;
    const original =
      originalId === undefined ? undefined : newest(originalId, ({ reference }) => (originalReference ?? reference) === reference);
    if (original && entry.kind === 'refund') original.refundedBani += entry.amountBani;
    if (original && entry.kind === 'void') original.isVoided = true;
  }

  /** The newest matching charge with this number. */
  function newest(operationId: string, isMeant: (entry: BankEntry) => boolean = () => true): ChargeState | undefined {
    return byOperation.get(operationId)?.findLast(({ entry }) => isMeant(entry));
  }

  async function write(kind: BankEntryKind, request: Request, extras: Partial<BankEntry> = {}): Promise<BankAnswer> {
    const entry: BankEntry = {
      kind,
      reference: request.reference,
      atMs: clock.now(),
      operationId: String(lastNumber + 1).padStart(6, '0'),
      rrn: digits(random, 12),
      authCode: digits(random, 6),
      token: Buffer.from(random.bytes(16)).toString('hex'),
      maskedCard: `516793******${digits(random, 4)}`,
      amountBani: request.amountBani,
      ...extras,
    };
    // Added at once, so that a concurrent query does not miss it.
    book.push(entry);
    post(entry);
    await store.append(entry as unknown as JsonObject);
    return { entry };
  }

  return {
    name,
    charge: ({ documentNr, ...request }: Request & { documentNr?: string | undefined }) =>
      write('charge', request, documentNr === undefined ? {} : { documentNr }),
    /** An operation that moves no money. */
    approve: (request: Request) => write('approval', request),
    decline: ({ reason, ...request }: Request & { reason: string }) => write('decline', request, { reason }),
    async closeDocument({ reference, operationId, documentNr }: Closing): Promise<BankAnswer> {
      const charge = newest(operationId);
      if (!charge) return { refused: 'The bank knows no such operation.' };
      return await write('document-closed', { reference, amountBani: charge.entry.amountBani }, { ...about(charge), documentNr });
    },
    async refund({ operationId, rrn, ...request }: Request & { operationId: string; rrn: string }): Promise<BankAnswer> {
      const charge = newest(operationId, (entry) => entry.rrn === rrn);
      if (!charge) return { refused: 'The bank knows no such operation.' };
      if (charge.isVoided) return { refused: balanceRefusals.voided };
      if (charge.isSettled) return { refused: balanceRefusals.settled };
      if (charge.refundedBani + request.amountBani > charge.entry.amountBani) return { refused: balanceRefusals.overRemainder };
      return await write('refund', request, about(charge));
    },
    /** Voids a whole charge; `token` undefined: the device reverses its own recent charge. */
    async void({ operationId, token, ...request }: Request & { operationId: string; token: string | undefined }): Promise<BankAnswer> {
      const charge = newest(operationId, (entry) => token === undefined || entry.token === token) ?? newest(operationId);
      if (!charge) return { refused: 'The bank knows no such operation.' };
      if (token !== undefined && charge.entry.token !== token) return { refused: 'The token is not that of the operation.' };
      if (charge.entry.amountBani !== request.amountBani) return { refused: 'The amount is not that of the operation.' };
      if (charge.isVoided) return { refused: balanceRefusals.voidedBefore };
      if (charge.refundedBani > 0) return { refused: balanceRefusals.partlyRefunded };
      return await write('void', request, about(charge));
    },
    async settle({ reference }: { reference: string }): Promise<BankAnswer> {
      const open = charges.filter((charge) => !charge.isSettled && !charge.isVoided);
      const salesBani = open.reduce((sum, charge) => sum + charge.entry.amountBani, 0);
      const refundsBani = open.reduce((sum, charge) => sum + charge.refundedBani, 0);
      return await write('settlement', { reference, amountBani: salesBani - refundsBani }, { count: open.length, salesBani, refundsBani });
    },
    /** All entries of one command. */
    find: (reference: string) => book.filter((entry) => entry.reference === reference),
    charges: () => [...charges],
    entries: () => [...book],
    /** Entries from this time on, without reading older ones. */
    entriesSince: (atMs: number) => book.slice(book.findLastIndex((entry) => entry.atMs < atMs) + 1),
    /** The sum of charges minus refunds and voids. */
    netBani: () => charges.reduce((sum, charge) => sum + (charge.isVoided ? 0 : charge.entry.amountBani - charge.refundedBani), 0),
  };
}
