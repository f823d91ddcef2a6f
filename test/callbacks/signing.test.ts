// What a callback is signed with, how the other side judges it, and the callback that only tries an address.
import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AttemptResult, OutgoingCallback } from '../../src/callbacks/sender.ts';
import { judgeSignature, signCallback } from '../../src/callbacks/signature.ts';
import { readSigningSecrets, replaceSigningSecret } from '../../src/callbacks/signing-secrets.ts';
import { createTestSender } from '../../src/callbacks/test-callback.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { seedMerchant } from '../support/fixtures.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';
import { answered } from './harness.ts';

const url = 'http://erp.example/cb?a=1';

describe('a signature', () => {
  const secret = `whsec_${Buffer.from('a key of 24 bytes or more').toString('base64')}`;
  const parts = { id: 'c-1', timestampS: 1_000, sequence: 2, url };
  const signature = signCallback(secret, parts);
  const headers = { 'webhook-id': 'c-1', 'webhook-timestamp': '1000', 'tillgate-sequence': '2', 'webhook-signature': signature };

  it('is made with the bytes behind whsec_, or with the text if it has no such head', () => {
    const by = (key: string) => `v1,${createHmac('sha256', key).update(`c-1.1000.2.${url}`).digest('base64')}`;
    expect(signature).toBe(by('a key of 24 bytes or more'));
    expect(signCallback('plain', parts)).toBe(by('plain'));
  });

  it('is good for five minutes, early or late', () => {
    const at = (nowS: number) => judgeSignature(secret, { headers, url }, nowS);
    expect([at(700), at(1_000), at(1_300)]).toEqual(['ok', 'ok', 'ok']);
    expect([at(699), at(1_301)]).toEqual(['too old', 'too old']);
  });

  it('is good beside others, of any length', () => {
    const judge = (given: string) => judgeSignature(secret, { headers: { ...headers, 'webhook-signature': given }, url }, 1_000);
    expect(judge(`v1,short ${signature}`)).toBe('ok');
    expect(judge(`${signature} ${'é'.repeat(signature.length)}`)).toBe('ok');
    expect([judge('v1,short'), judge(''), judge(signature.slice(0, -1)), judge(`${signature}=`)]).toEqual([
      'WRONG',
      'WRONG',
      'WRONG',
      'WRONG',
    ]);
  });

  it.each(Object.keys(headers))('is missing without its %s, and wrong with another', (name) => {
    expect(judgeSignature(secret, { headers: { ...headers, [name]: undefined }, url }, 1_000)).toBe('missing');
    expect(judgeSignature(secret, { headers: { ...headers, [name]: '1001' }, url }, 1_000)).toBe('WRONG');
  });
});

describe.each(engines)('signing secrets on %s', (engine) => {
  let clock: VirtualClock;
  let database: TestDatabase;
  let merchantId: string;
  let otherId: string;
  const sent: OutgoingCallback[] = [];
  let answer: (result: AttemptResult) => void;

  beforeEach(async () => {
    clock = createVirtualClock(1_000_000);
    database = await openTestDatabase(engine, clock);
    merchantId = (await seedMerchant(database.queries, { callback_secret: 'first' })).id;
    otherId = (await seedMerchant(database.queries, { callback_secret: 'of another' })).id;
    sent.length = 0;
  });
  afterEach(() => database.close());

  const replace = (fresh: string, overlapMs: number, id = merchantId) =>
    database.transaction((queries) => replaceSigningSecret(engine, queries, id, fresh, overlapMs));
  const read = () => readSigningSecrets(database.queries, merchantId);
  const stored = async () =>
    (await database.queries.selectFrom('merchants').select('earlier_callback_secrets').where('id', '=', merchantId).executeTakeFirst())
      ?.earlier_callback_secrets;

  it('sign beside the new one until the very end of the overlap, and those of others are left alone', async () => {
    expect(await replace('second', 1_000)).toEqual({ oldSecretEndsAtMs: clock.now() + 1_000 });
    await clock.advance(999);
    expect(await read()).toEqual(['second', 'first']);
    await clock.advance(1);
    expect(await read()).toEqual(['second']);
    expect(await readSigningSecrets(database.queries, otherId)).toEqual(['of another']);
  });

  it('are not extended by another change, and a shorter overlap ends them all sooner', async () => {
    await replace('second', 1_000);
    await clock.advance(500);
    await replace('third', 10_000);
    await clock.advance(499);
    expect(await read()).toEqual(['third', 'second', 'first']);
    await clock.advance(1);
    expect(await read()).toEqual(['third', 'second']);
    await replace('fourth', 20);
    await clock.advance(20);
    expect(await read()).toEqual(['fourth']);
  });

  it('are four beside the new one at most; ended ones do not count and are not kept', async () => {
    for (const fresh of ['2', '3', '4', '5']) await replace(fresh, 1_000);
    expect(await read()).toEqual(['5', '4', '3', '2', 'first']);
    await expect(replace('6', 1_000)).rejects.toMatchObject({ errorName: 'The_status_cannot_be_applied' });
    expect(await read()).toHaveLength(5);
    await clock.advance(1_000);
    await replace('6', 1_000);
    expect(await read()).toEqual(['6', '5']);
    await replace('7', 0);
    expect([await read(), await stored()]).toEqual([['7'], null]);
  });

  it('do not exist without a merchant', async () => {
    await expect(replace('x', 0, 'nobody')).rejects.toMatchObject({ errorName: 'Record_not_exist' });
    await expect(readSigningSecrets(database.queries, 'nobody')).rejects.toMatchObject({ errorName: 'Record_not_exist' });
  });

  describe('of a test callback', () => {
    const waiting: ((result: AttemptResult) => void)[] = [];
    const sender = () =>
      createTestSender({
        ...{ database, clock },
        send: (callback, signal) => {
          expect(signal.aborted).toBe(false);
          sent.push(callback);
          return new Promise((resolve) => waiting.push((answer = resolve)));
        },
      });
    const until = async (count: number) => {
      while (sent.length < count) await new Promise((resolve) => setImmediate(resolve));
    };
    const template = 'http://erp.example/#OID#?s=#State#&r=#ReceiptID#&d=#DeviceID#';

    it('sign it; it names an invoice that does not exist, and its answer is returned as it came', async () => {
      const send = sender();
      await replace('second', 1_000);
      const asked = send({ id: 't-1', merchantId, template });
      await until(1);
      const filled = 'http://erp.example/00000000-0000-0000-0000-000000000000?s=Test&r=&d=';
      expect(sent).toEqual([{ id: 't-1', sequence: 0, url: filled, secrets: ['second', 'first'] }]);
      answer(answered(503));
      expect(await asked).toEqual({ url: filled, ...answered(503) });
    });

    it('are sent one at a time for a merchant, four in all, and five in a row', async () => {
      const send = sender();
      const test = (id: string) => send({ id: 't', merchantId: id, template });
      const first = test(merchantId);
      await until(1);
      await expect(test(merchantId)).rejects.toMatchObject({ errorName: 'Too_Many_Requests' });
      const others = [otherId];
      for (const _ of [1, 2]) others.push((await seedMerchant(database.queries)).id);
      const fifth = (await seedMerchant(database.queries)).id;
      const open = [first, ...others.map(test)];
      await until(4);
      await expect(test(fifth)).rejects.toMatchObject({ errorName: 'Too_Many_Requests' });
      for (const end of waiting.splice(0)) end(answered(200));
      await Promise.all(open);
      for (let count = 2; count <= 5; count += 1) {
        const next = test(merchantId);
        await until(3 + count);
        answer(answered(200));
        await next;
      }
      await expect(test(merchantId)).rejects.toMatchObject({ errorName: 'Too_Many_Requests' });
      await clock.advance(5_000);
      const again = test(merchantId);
      await until(9);
      answer(answered(200));
      await again;
    });

    it('are not sent to an invalid address, and the message calls it url', async () => {
      const bad = sender()({ id: 't', merchantId, template: 'ftp://erp.example/' });
      await expect(bad).rejects.toMatchObject({ errorName: 'Invalid_Request', message: expect.stringMatching(/^url must/) });
      await expect(sender()({ id: 't', merchantId: 'nobody', template })).rejects.toMatchObject({ errorName: 'Record_not_exist' });
      expect(sent).toEqual([]);
    });
  });
});
