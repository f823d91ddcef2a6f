// The first commit of a command when another commit was faster since the look-up: then nothing is written, and the key stands for what it
// stood for. And the one that goes out once more after `expired`: both rows change, or neither.
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimKey, findKey, releaseKey } from '../../src/access/idempotency.ts';
import type { Queries } from '../../src/database/database.ts';
import type { CommandRequest } from '../../src/ledger/calls/call.ts';
import { createFirstCommits, type FirstCommits } from '../../src/ledger/calls/first-commit.ts';
import { findByContent, releaseNumbers } from '../../src/ledger/claims.ts';
import type { Command } from '../../src/ledger/command.ts';
import { createInsertGroup } from '../../src/ledger/insert-batch.ts';
import { closeDocument, findCommand } from '../../src/ledger/store.ts';
import type { Link } from '../../src/link/link.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { createFakeRecipient } from '../support/fake-recipient.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';

describe.each(engines)('on %s', (engine) => {
  let database: TestDatabase;
  let merchantId: string;
  let deviceId: string;
  let commits: FirstCommits;
  let note: 'received' | 'left' | undefined;
  /** After the batch, before its caller goes on. */
  let meanwhile: () => Promise<void>;

  beforeEach(async () => {
    database = await openTestDatabase(engine);
    merchantId = (await seedMerchant(database.queries)).id;
    deviceId = (await seedDevice(database.queries, merchantId)).id;
    const link = { presence: { journalOf: (_id: string, otherwise: string | undefined) => otherwise } } as unknown as Link;
    const outcomeDelivery = { statusOf: () => note };
    note = undefined;
    const group = createInsertGroup(database);
    meanwhile = async () => {};
    const insertGroup = {
      ...group,
      async add(fresh: Parameters<typeof group.add>[0]) {
        const command = await group.add(fresh);
        await meanwhile();
        return command;
      },
    };
    commits = createFirstCommits({ database, link, instanceId: 'mine', outcomeDelivery, insertGroup });
  });
  afterEach(() => database.close());

  const request = (overrides: Partial<CommandRequest> = {}): CommandRequest => ({
    claims: { document: overrides.name === 'Pay' ? overrides.documentNr : undefined, receipt: overrides.receiptUid },
    merchantId,
    deviceId,
    name: 'Refund',
    args: {},
    answerWithinMs: 60_000,
    journalId: 'stored',
    preferredChannel: 'mqtt',
    idempotency: { key: 'k', requestHash: 'asked' },
    ...overrides,
  });
  const read = async (id: string) => (await findCommand(database.queries, id)) as Command;
  const keyStandsFor = async () => (await findKey(database.queries, merchantId, 'k'))?.subjectId;
  const count = async () => (await database.queries.selectFrom('commands').select('id').execute()).length;
  const onOther = async (overrides: Parameters<typeof seedCommand>[3]) => {
    const other = await seedDevice(database.queries, merchantId);
    return (await seedCommand(database.queries, merchantId, other.id, { name: 'Refund', ...overrides })).id;
  };
  const knownByContent = async () => (await findByContent(database.queries, { merchantId, deviceId, requestHash: 'asked' }))?.id;
  const claim = (subjectId: string, requestHash = 'asked') =>
    claimKey(database.queries, { merchantId, key: 'k', requestHash, subjectKind: 'command', subjectId });

  it.each([
    ['Pay', { documentNr: 'n' }, { document_nr: 'n' }],
    ['PrintReceipt', { receiptUid: 'n' }, { receipt_uid: 'n' }],
  ] as const)('of a %s is not made under a number that became disputed since it was looked for', async (name, number, columns) => {
    const before = { name, ...columns, state: 'disputed', settled_at: 1, settled_by: 'person' } as const;
    const id = await onOther(before);
    // The key of what never began sends it the long way.
    await claim(await onOther({ state: 'never', settled_at: 1, settled_by: 'recall' }));
    expect(await commits.begin(request({ name, ...number }), randomUUID())).toBeUndefined();
    await releaseNumbers(database.queries, await read(id));
    expect(await commits.begin(request({ name, ...number }), randomUUID())).toMatchObject({ state: 'sent' });
  });

  describe('a request of a caller who has disconnected', () => {
    const unnamed = { idempotency: undefined, requestHash: 'asked' };

    it('is not begun: the caller may have received the outcome of its repeat elsewhere', async () => {
      const recipient = createFakeRecipient();
      recipient.leave();
      await expect(commits.begin(request({ ...unnamed, recipient }), randomUUID())).rejects.toThrow('was not started');
      expect(await count()).toBe(0);
    });

    it.each([
      ['a number', { idempotency: undefined, documentNr: randomUUID() }],
      ['a number and a guard', { idempotency: undefined, documentNr: randomUUID(), guard: async () => {} }],
      ['a key', { requestHash: 'asked' }],
    ])('is not begun with %s either: its repeat may have been answered that nothing was done', async (_what, names) => {
      const recipient = createFakeRecipient();
      recipient.leave();
      await expect(commits.begin(request({ ...names, recipient }), randomUUID())).rejects.toThrow('was not started');
      expect(await count()).toBe(0);
    });
  });

  describe('an equal request that left its caller without the outcome since it was looked up', () => {
    const unnamed = { idempotency: undefined, requestHash: 'asked' };
    const ended = { name: 'Refund', request_hash: 'asked', state: 'refused', settled_by: 'answer' } as const;
    const seedEnded = (queries: Queries) => seedCommand(queries, merchantId, deviceId, { ...ended, settled_at: Date.now() });

    it('is what this one repeats: nothing is written', async () => {
      await seedEnded(database.queries);
      expect(await commits.begin(request(unnamed), randomUUID())).toBeUndefined();
      note = 'left';
      expect(await commits.begin(request(unnamed), randomUUID())).toBeUndefined();
      expect(await count()).toBe(1);
      // But for a caller who is known to have it.
      note = 'received';
      const begun = await commits.begin(request(unnamed), randomUUID());
      expect(begun).toMatchObject({ state: 'sent' });
      // From now on a repeat finds this one.
      expect(await knownByContent()).toBe(begun?.id);
    });

    it('or is disputed since is what this one repeats, also if its caller has what it was settled as', async () => {
      const disputed = { state: 'disputed', review_since: 1, review_reason: 'r' } as const;
      await seedCommand(database.queries, merchantId, deviceId, { ...ended, settled_at: Date.now(), ...disputed });
      note = 'received';
      expect(await commits.begin(request(unnamed), randomUUID())).toBeUndefined();
      expect(await count()).toBe(1);
    });

    it('is not looked up by a request with a key, nor by one that finds the device locked', async () => {
      const { id } = await seedEnded(database.queries);
      const guard = async () => {};
      expect(await commits.begin(request({ requestHash: 'asked', guard }), randomUUID())).toMatchObject({ state: 'sent' });
      expect(await knownByContent(), 'its caller may still ask').toBe(id);
      await database.queries.updateTable('commands').set({ request_hash: null }).where('id', '=', id).execute();
      expect(await commits.begin(request({ ...unnamed, guard }), randomUUID())).toBeUndefined();
    });
  });

  it('a key that was in use, and was released since, is claimed: the device is free, and no caller is answered that it is busy', async () => {
    await claim('a command that never was');
    let inserts = 0;
    meanwhile = async () => {
      inserts += 1;
      await releaseKey(database.queries, merchantId, 'k', 'a command that never was');
    };
    const id = randomUUID();
    expect(await commits.begin(request(), id)).toMatchObject({ id, state: 'sent' });
    expect(await keyStandsFor()).toBe(id);
    // Both times along with others, without locks of its own.
    expect(inserts).toBe(2);
  });

  it('a call with a key shares a statement with others, whatever it asks', async () => {
    let inserts = 0;
    meanwhile = async () => void (inserts += 1);
    expect(await commits.begin(request({ requestHash: 'asked' }), randomUUID())).toMatchObject({ state: 'sent' });
    expect(inserts).toBe(1);
    // And so does one that its own number names; it finds the device taken.
    expect(await commits.begin(request({ idempotency: undefined }), randomUUID())).toBeUndefined();
    expect(inserts).toBe(2);
  });

  it('a device that another caller’s command has locked is reported as locked, whatever else is to be looked up', async () => {
    await seedCommand(database.queries, merchantId, deviceId, { name: 'Refund' });
    const unnamed = { idempotency: undefined, requestHash: 'asked', guard: async () => {} };
    expect(await commits.begin(request(unnamed), randomUUID())).toBeUndefined();
    expect(await commits.begin(request({ ...unnamed, beside: 'its open document' }), randomUUID())).toBeUndefined();
    expect(await count()).toBe(1);
  });

  describe('a key that was claimed since it was looked up', () => {
    it('by another request is 22, and nothing is written', async () => {
      const theirs = await onOther({});
      await claim(theirs, 'something else');
      const begun = commits.begin(request(), randomUUID());
      await expect(begun).rejects.toThrow(expect.objectContaining({ errorName: 'The_status_cannot_be_applied' }) as Error);
      expect(await count()).toBe(1);
      expect(await keyStandsFor()).toBe(theirs);
    });

    it.each(['sent', 'unknown', 'done', 'refused'] as const)('by the same request is its repeat while that one is %s', async (state) => {
      const isSettled = state === 'done' || state === 'refused';
      const theirs = await onOther({ state, ...(isSettled ? { settled_at: 1, settled_by: 'answer' } : {}) });
      await claim(theirs);
      expect(await commits.begin(request(), randomUUID())).toBeUndefined();
      expect(await count()).toBe(1);
      expect(await keyStandsFor()).toBe(theirs);
    });

    it('and whose command cannot be found is no free key', async () => {
      const gone = randomUUID();
      await claim(gone);
      expect(await commits.begin(request(), randomUUID())).toBeUndefined();
      expect(await count()).toBe(0);
      expect(await keyStandsFor()).toBe(gone);
    });

    it('a day ago no longer counts', async () => {
      await claim('theirs', 'something else');
      await database.queries.updateTable('idempotency_keys').set({ created_at: 1 }).execute();
      const id = randomUUID();
      expect(await commits.begin(request(), id)).toMatchObject({ id, state: 'sent' });
      expect(await keyStandsFor()).toBe(id);
    });

    it('is not touched by a call without a lookup, whatever its command', async () => {
      const theirs = await onOther({ state: 'never', settled_at: 1, settled_by: 'answer' });
      await claim(theirs);
      expect(await commits.begin(request({ isFirstTry: true }), randomUUID())).toBeUndefined();
      expect([await count(), await keyStandsFor()]).toEqual([1, theirs]);
    });

    it('is not why a document that was closed meanwhile is closed once more: then nothing is written', async () => {
      const targetId = await onOther({ name: 'Pay', state: 'done', document_state: 'closed', settled_at: 1, settled_by: 'answer' });
      const close = request({ name: 'CloseDoc', targetId, beside: 'its open document' });
      expect(await commits.begin(close, randomUUID())).toBeUndefined();
      expect([await count(), await keyStandsFor()]).toEqual([1, undefined]);
    });

    describe.each(['closed', 'voided', 'open'] as const)('and a document that is %s by now', (documentState) => {
      const settled = { settled_at: 1, settled_by: 'answer' } as const;
      const closing = async () => {
        const payment = { name: 'Pay', state: 'done', document_state: documentState, ...settled } as const;
        const { id: targetId } = await seedCommand(database.queries, merchantId, deviceId, payment);
        return request({ name: 'CloseDoc', targetId, beside: 'its open document' });
      };
      const isOpen = documentState === 'open';

      it(`${isOpen ? 'lets it be closed' : 'is not why it is closed once more'} under the key of one that never began`, async () => {
        const before = await onOther({ name: 'CloseDoc', state: 'never', ...settled });
        await claim(before);
        const id = randomUUID();
        const command = await commits.begin(await closing(), id);
        expect(command?.id).toBe(isOpen ? id : undefined);
        expect([await count(), await keyStandsFor()]).toEqual(isOpen ? [3, id] : [2, before]);
      });

      it(`${isOpen ? 'lets it be closed' : 'is not why it is closed once more'} under a key of a day ago`, async () => {
        await claim('theirs', 'something else');
        await database.queries.updateTable('idempotency_keys').set({ created_at: 1 }).execute();
        const command = await commits.begin(await closing(), randomUUID());
        expect([command?.state, await count()]).toEqual(isOpen ? ['sent', 2] : [undefined, 1]);
      });
    });

    it('by the same request that never began goes to the new one', async () => {
      await claim(await onOther({ state: 'never', settled_at: 1, settled_by: 'answer' }));
      const id = randomUUID();
      expect(await commits.begin(request(), id)).toMatchObject({ id, state: 'sent', instanceId: 'mine', journalId: 'stored' });
      expect(await keyStandsFor()).toBe(id);
    });
  });

  describe('a command that expired', () => {
    const again = (expired: Command, id: string, overrides: Partial<CommandRequest> = {}) =>
      commits.beginAgain(expired, 'The clock was wrong.', request(overrides), id);
    const begun = async (overrides: Partial<CommandRequest> = {}) => (await commits.begin(request(overrides), randomUUID())) as Command;

    it('is sent under a new id, which its row and its key name', async () => {
      const first = await begun();
      const id = randomUUID();
      expect(await again(first, id)).toMatchObject({ id, state: 'sent', outcomeMissedAtMs: null });
      expect(await read(first.id)).toMatchObject({ state: 'never', outcome: 'expired', reissuedAs: id, reason: 'The clock was wrong.' });
      expect(await keyStandsFor()).toBe(id);
    });

    it.each([
      ['of the first is gone', { outcome_missed_at: 5 }, false],
      ['has gone by now', {}, true],
    ])('and whose caller %s is undelivered in the new row, too', async (_who, columns, hasLeft) => {
      const first = await begun();
      await database.queries
        .updateTable('commands')
        .set({ recalls: 0, ...columns })
        .execute();
      const recipient = createFakeRecipient();
      if (hasLeft) recipient.leave();
      expect((await again(first, randomUUID(), { recipient }))?.outcomeMissedAtMs).toEqual(expect.any(Number));
    });

    it('is not sent again beside a disputed equal one', async () => {
      const unnamed = { idempotency: undefined, requestHash: 'asked' };
      const first = await begun(unnamed);
      const claim = () => database.queries.selectFrom('claims').select(['command_id', 'next_id']).where('value', '=', `${deviceId} asked`);
      const id = randomUUID();
      await again(first, id, unnamed);
      expect(await claim().execute()).toEqual([{ command_id: id, next_id: null }]);
      const disputed = await onOther({ request_hash: 'asked', state: 'disputed', settled_at: 1, settled_by: 'person' });
      await database.queries.updateTable('claims').set({ command_id: disputed }).where('value', '=', `${deviceId} asked`).execute();
      expect(await again(await read(id), randomUUID(), unnamed)).toBeUndefined();
      expect(await read(id)).toMatchObject({ state: 'sent', reissuedAs: null });
    });

    it.each([
      ['was settled by another gateway', { state: 'done', settled_at: 1, settled_by: 'recall' }],
      ['is to be aborted', { abort_requested_at: 1, abort_id: 'a' }],
    ] as const)('and %s does not go out again', async (_what, columns) => {
      const first = await begun();
      await database.queries.updateTable('commands').set(columns).execute();
      const before = await read(first.id);
      expect(await again(first, randomUUID())).toBeUndefined();
      expect(await read(first.id)).toEqual(before);
      expect([await count(), await keyStandsFor()]).toEqual([1, first.id]);
    });

    it.each(['finds its payment', 'knows its payment'] as const)('and whose document was closed by hand stays here (%s)', async (how) => {
      const paid = { name: 'Pay', state: 'done', operation_id: '7', document_nr: 'd', settled_at: 1, settled_by: 'answer' } as const;
      const { id: targetId } = await seedCommand(database.queries, merchantId, deviceId, { ...paid, document_state: 'open' });
      const named = { name: 'CloseDoc', operationId: '7', documentNr: 'd' } as const;
      const beside = how === 'finds its payment' ? 'the document it names' : 'its open document';
      const close = { ...named, targetId: how === 'finds its payment' ? undefined : targetId, beside } as const;
      const first = await begun(close);
      const second = await again(first, randomUUID(), close);
      expect(second).toMatchObject({ state: 'sent', targetId });
      await closeDocument(database.queries, targetId);
      expect(await again(second as Command, randomUUID(), close)).toBeUndefined();
      expect(await read((second as Command).id)).toMatchObject({ state: 'sent', reissuedAs: null });
      expect([await count(), await keyStandsFor()]).toEqual([3, second?.id]);
    });

    it('and that a key names leaves an equal one to its caller, who lacks the outcome', async () => {
      const ended = { name: 'Refund', request_hash: 'asked', state: 'refused', settled_by: 'answer', settled_at: Date.now() } as const;
      const { id } = await seedCommand(database.queries, merchantId, deviceId, ended);
      const keyed = { requestHash: 'asked' };
      expect(await again(await begun(keyed), randomUUID(), keyed)).toMatchObject({ state: 'sent' });
      expect(await knownByContent()).toBe(id);
    });

    it('and has neither number nor key is sent all the same', async () => {
      const unnamed = { idempotency: undefined };
      const first = await begun(unnamed);
      const id = randomUUID();
      expect(await again(first, id, unnamed)).toMatchObject({ id, state: 'sent' });
      expect(await keyStandsFor()).toBeUndefined();
    });

    it('and that needs an open document and has none stays here', async () => {
      const first = await begun();
      expect(await again(first, randomUUID(), { beside: 'its open document' })).toBeUndefined();
      expect([await count(), (await read(first.id)).state]).toEqual([1, 'sent']);
    });

    it('and whose number another command took is still open: neither row is written without the other', async () => {
      const documentNr = randomUUID();
      const first = await begun();
      const held = { name: 'Pay', documentNr, claims: { document: documentNr } } as const;
      await onOther({ name: 'Pay', document_nr: documentNr });
      expect(await again(first, randomUUID(), held)).toBeUndefined();
      expect(await read(first.id)).toMatchObject({ state: 'sent', reissuedAs: null });
      expect([await count(), await keyStandsFor()]).toEqual([2, first.id]);
    });
  });
});
