// What an abort, a void and a CloseDoc do when something has changed since they looked: another call was faster, a key or a record is gone.
import { beforeEach, describe, expect, it } from 'vitest';
import { abort } from '../../src/cards/abort.ts';
import type { CardsDeps } from '../../src/cards/cards-deps.ts';
import type { DeviceAnswer } from '../../src/ledger/answers.ts';
import type { ChannelName } from '../../src/link/channel.ts';
import { isNewCore } from '../support/core.ts';
import { denies, disputesIn } from '../support/disputes-in.ts';
import { seedInvoice } from '../support/fixtures.ts';
import { interruptible } from '../support/interruptible.ts';
import { createSaleWorld, type SaleWorld } from '../support/sale-world.ts';

let world: SaleWorld;
let terminal: Awaited<ReturnType<SaleWorld['terminal']>>;

beforeEach(async () => {
  world = await createSaleWorld();
  terminal = await world.terminal({ timing: { customerMs: 100, bankMs: 2_000 } });
});

const declinedLei = 10.61;
const call = () => ({ merchantId: world.merchantId, deviceId: terminal.id });
const { decided, isBack, paidOn, resolve } = disputesIn(() => world);

async function paid(documentNr: string | undefined) {
  const { report, oid } = await world.run(world.cards.pay({ ...call(), amountBani: 1_000, documentNr }));
  const named = { ...call(), documentNr: documentNr ?? 'any', operationId: String(report?.['operationId']) };
  return {
    ...named,
    id: String(oid),
    rrn: String(report?.['rrn']),
    token: String(report?.['token']),
    amountBani: 1_000,
    currency: undefined,
  };
}

/** A second gateway, whose next call stands still between its look and its write; meanwhile something else happens. */
async function slowGateway() {
  const { database, beforeNextTransaction, afterNextLook } = interruptible(world.database);
  const { cards } = await world.startLife({ database });
  // Until it knows which devices are connected.
  await world.clock.advance(60_000);
  return {
    cards,
    async overtaken(asked: () => Promise<DeviceAnswer>, meanwhile: () => Promise<unknown>, stopsAt: 'look' | 'write' = 'write') {
      const [isThere, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const standStill = () => {
        isThere.resolve();
        return goesOn.promise;
      };
      if (stopsAt === 'write') beforeNextTransaction(standStill);
      else afterNextLook(standStill, 'abort_requested_at');
      const answer = world.told(asked());
      await isThere.promise;
      await meanwhile();
      goesOn.resolve();
      return world.meanwhile(answer, 5 * 60_000);
    },
  };
}

describe('an abort that the terminal refused, of a payment that is declined a moment later,', () => {
  async function declining(more: object = {}) {
    const { oid } = await seedInvoice(world.database.queries, world.merchantId, more);
    const paying = world.pay(terminal.id, declinedLei, oid);
    await world.clock.advance(1_000);
    const asked = { ...call(), documentNr: oid, operationId: 'none', token: 'none', amountBani: 1_061 };
    return { oid, paying, asked, payment: await world.lastCommand() };
  }
  const stateOf = async (oid: string) =>
    (await world.database.queries.selectFrom('invoices').select('state').where('oid', '=', oid).executeTakeFirstOrThrow()).state;

  it('is confirmed by one of two requests; the other is answered 22, and not that it is unclear, or the same [D302]', async () => {
    const { paying, asked } = await declining();
    const both = [world.told(world.cards.cancelTransaction(asked)), world.told(world.cards.cancelTransaction(asked))];
    expect((await world.run(paying)).code).toBe(50);
    await world.clock.advance(1_000);
    const codes = (await Promise.all(both)).map(({ code }) => code);
    expect(codes.toSorted((one, other) => one - other)).toEqual([0, isNewCore ? 0 : 22]);
    expect(await stateOf(asked.documentNr)).toBe(4);
  });

  it('whose key was claimed by another request since it was looked up is 22, and the bank’s refusal cancels nothing', async () => {
    const other = await world.terminal({ timing: { customerMs: 10, bankMs: 10 } });
    const { cards, overtaken } = await slowGateway();
    const { paying, asked, oid } = await declining();
    const idempotency = { key: 'k', requestHash: 'abort' };
    const claimed = () => world.run(world.pay(other.id, 1, 'other', { idempotency: { key: 'k', requestHash: 'pay' } }));
    const told = await overtaken(() => cards.cancelTransaction({ ...asked, idempotency }), claimed, 'look');
    expect(told.code).toBe(22);
    expect(world.sendsOf('Abort')).toEqual([]);
    expect((await world.run(paying)).code).toBe(50);
    expect(await stateOf(oid)).toBe(0);
  });

  // The order of the locks of the old core; test/database/commit.test.ts has the one order of the new one.
  it.runIf(!isNewCore)(
    'locks its invoice before the payment is marked: the other order could deadlock with a payment that begins',
    async () => {
      const { payment } = await declining();
      const order: string[] = [];
      const noted = (name: string) => async (_queries: unknown, oid: string) => void order.push(`${name} ${oid}`);
      const invoices = { ...world.life.invoices, lock: noted('lock'), cancelUnpaidInvoice: noted('cancel') };
      world.hook = ({ sql, when }) => {
        if (when === 'before' && sql.startsWith('update') && sql.includes('"abort_requested_at" is null')) order.push('mark');
        return undefined;
      };
      const { database, ledger, link, callbacks } = world.life;
      const parts = { database, ledger, link, callbacks, invoices, clock: world.clock, random: world.random, logger: world.logger };
      expect((await world.run(abort(parts as unknown as CardsDeps, call(), payment))).code).toBe(0);
      expect(order).toEqual([`lock ${payment.documentNr}`, 'mark', `cancel ${payment.documentNr}`]);
    },
  );

  it('sends the callback of the cancelled invoice off at once', async () => {
    const { asked } = await declining({ callback_uri: 'http://erp.example/?s=#State#' });
    expect((await world.run(world.cards.cancelTransaction(asked))).code).toBe(0);
    await world.clock.advance(10);
    expect(world.callbackUrls).toEqual(['http://erp.example/?s=Cancelled']);
  });
});

it.each<[string, ChannelName[] | undefined, ChannelName]>([
  ['is live on first', ['queue', 'mqtt'], 'queue'],
  ['is asked by otherwise, when it has no presence here', undefined, 'mqtt'],
  ['is asked by otherwise, when it is live on none', [], 'mqtt'],
])('an Abort goes by the channel that the terminal %s', async (_what, liveOn, channel) => {
  const asked: unknown[] = [];
  const { cards } = await world.startLife({
    database: world.database,
    alterLink: (link) => ({
      ...link,
      presence: Object.assign(Object.create(link.presence) as typeof link.presence, { of: () => liveOn && { liveOn } }),
      async ask(_deviceId, { name, preferredChannel }) {
        if (name === 'Abort') asked.push(preferredChannel);
        return { outcome: 'refused' } as never;
      },
    }),
  });
  const paying = world.pay(terminal.id, 10, 'n');
  await world.clock.advance(50);
  await world.run(cards.cancelTransaction({ ...call(), documentNr: 'n', operationId: 'none', token: '', amountBani: 1_000 }));
  expect(asked).toEqual([channel]);
  await world.run(paying);
});

describe('a payment that changes between the look and the commit', () => {
  /** Closed, and known by the numbers of its bank. */
  async function closed() {
    const payment = await paid(world.random.uuid());
    expect((await world.run(world.cards.closeDoc(payment))).code).toBe(0);
    return payment;
  }
  type Closed = Awaited<ReturnType<typeof closed>>;
  const succeeds = async (asked: Promise<DeviceAnswer>) => expect((await world.run(asked)).code).toBe(0);
  const voided = (payment: Closed) => succeeds(world.cards.cancelTransaction(payment));
  const dayClosed = () => succeeds(world.cards.closeDay(call()));
  const partRefunded = (payment: Closed) => succeeds(world.cards.refund({ ...payment, amountBani: 600 }));

  it.each<[string, (payment: Closed) => Promise<unknown>, number]>([
    ['voided', voided, 22],
    ['closed with its day', dayClosed, 22],
    ['refunded in part', partRefunded, 40],
  ])('and is %s then is not refunded', async (_how, change, code) => {
    const payment = await closed();
    const { cards, overtaken } = await slowGateway();
    const before = terminal.bank.netBani();
    let changedBani = 0;
    const told = await overtaken(
      () => cards.refund(payment),
      async () => {
        await change(payment);
        changedBani = terminal.bank.netBani();
      },
    );
    expect([told.code, terminal.bank.netBani(), before]).toEqual([code, changedBani, 1_000]);
  });

  it.each<[string, (payment: Closed) => Promise<unknown>, number]>([
    ['voided', voided, 22],
    ['refunded in part', partRefunded, 22],
  ])('and is %s then is not voided', async (_how, change, code) => {
    const payment = await closed();
    const { cards, overtaken } = await slowGateway();
    let sent = 0;
    const told = await overtaken(
      () => cards.cancelTransaction(payment),
      async () => {
        await change(payment);
        sent = world.sendsOf('CancelTransaction').length;
      },
    );
    expect([told.code, world.sendsOf('CancelTransaction').length]).toEqual([code, sent]);
  });
});

it('a void whose key leads to a command that has since been removed is 20 when no payment has its number', async () => {
  const row = {
    merchant_id: world.merchantId,
    key: 'k',
    request_hash: 'h',
    subject_kind: 'command' as const,
    subject_id: world.random.uuid(),
  };
  await world.database.queries
    .insertInto('idempotency_keys')
    .values({ ...row, created_at: world.clock.now() })
    .execute();
  const asked = { ...call(), documentNr: 'n', operationId: 'none', token: 't', amountBani: 1_000 };
  const told = await world.run(world.cards.cancelTransaction({ ...asked, idempotency: { key: 'k', requestHash: 'h' } }));
  expect(told.code).toBe(20);
});

describe('a CloseDoc of a payment that had no documentNr', () => {
  it('is not recognised by its content', async () => {
    const payment = await paid(undefined);
    expect((await world.run(world.cards.closeDoc({ ...payment, hashRequest: () => 'equal' }))).code).toBe(0);
    expect((await world.lastCommand('CloseDoc')).requestHash).toBeNull();
  });

  // The old core does not look before this commit: document.test.ts has its callers at once.
  it.runIf(isNewCore)('closes nothing a second time when another call has closed it since it was looked up', async () => {
    const payment = await paid(undefined);
    const { cards, overtaken } = await slowGateway();
    const told = await overtaken(
      () => cards.closeDoc(payment),
      async () => expect((await world.run(world.cards.closeDoc(payment))).code).toBe(0),
    );
    expect(told.code).toBe(0);
    expect(world.sendsOf('CloseDoc')).toHaveLength(1);
  });
});

it('a CloseDoc of a payment that was voided, and removed since, is answered that it was removed', async () => {
  const payment = await paid('n');
  expect((await world.run(world.cards.cancelTransaction(payment))).code).toBe(0);
  await world.database.queries.updateTable('commands').set({ removed_at: 1 }).where('name', '=', 'Pay').execute();
  const told = await world.run(world.cards.closeDoc(payment));
  expect(told).toMatchObject({ code: 22, message: expect.stringContaining('removed') as string });
});

describe('in a dispute', () => {
  it.each(['Refund', 'CancelTransaction'] as const)('a %s blocks others of its payment until an operator has resolved it', async (name) => {
    const { id: paymentId, named, token, rrn } = await paidOn(terminal.id, true);
    const refund = (amountBani: number) => world.cards.refund({ ...named, rrn, amountBani, currency: 'MDL' });
    const cancel = () => world.cards.cancelTransaction({ ...named, token, amountBani: 1_000 });
    const id = await decided(terminal.id, name === 'Refund' ? () => refund(100) : cancel, 'done');
    await isBack(terminal.id, denies);
    expect((await world.ledger.find(id))?.state).toBe('disputed');
    world.onAnswer = (answer) => answer;
    const sent = world.ledgerSends().length;
    const told = { code: 3, oid: paymentId, state: 'Disputed' };
    for (const asked of [() => refund(300), cancel]) expect(await world.run(asked())).toMatchObject(told);
    expect(world.ledgerSends()).toHaveLength(sent);
    await resolve(id, 'refused');
    // It is sent; the bank refuses it after a void, which it did make.
    expect((await world.run(refund(300))).code).toBe(name === 'Refund' ? 0 : 50);
    expect(world.ledgerSends()).toHaveLength(sent + 1);
  });

  it('a payment is not answered as aborted', async () => {
    const documentNr = world.random.uuid();
    const id = await decided(terminal.id, () => world.pay(terminal.id, 10, documentNr), 'refused');
    await isBack(terminal.id);
    expect((await world.ledger.find(id))?.state).toBe('disputed');
    const asked = { ...call(), documentNr, operationId: 'none', token: '', amountBani: 1_000 };
    expect(await world.run(world.cards.cancelTransaction(asked))).toMatchObject({ code: 3, oid: id, state: 'Disputed' });
  });
});
