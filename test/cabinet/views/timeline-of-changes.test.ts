// The timeline of a sale has a step for each kind of change, in the order in which it happened; and the page of a device says that other
// hardware is connected than the one that must confirm a decision [D304].
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isNewCore } from '../../support/core.ts';
import { disputesIn } from '../../support/disputes-in.ts';
import { type Answered, type CabinetWorld, createCabinetWorld } from './cabinet-world.ts';

interface Page extends Answered {
  outcome: { key: string };
  advice: { key: string };
  timeline: { kind: string; text: { key: string } }[];
}

describe('the timeline of a sale', () => {
  let world: CabinetWorld;
  let terminal: Awaited<ReturnType<CabinetWorld['terminal']>>;
  beforeEach(async () => {
    world = await createCabinetWorld();
    terminal = await world.terminal();
  });
  afterEach(() => world.close());

  const page = async (id: unknown) => (await world.look(`/commands/${String(id)}`)) as Page;
  const kindsOf = async (id: unknown) => (await page(id)).timeline.map(({ kind }) => kind);
  const pay = (amount: number, documentNr = world.random.uuid()) =>
    world.erp('/Device/payment/Pay', { DeviceID: terminal.id, amount, documentNr });

  it('has the settlement before the answer to the ERP', async () => {
    const { OID } = await pay(12);
    expect(await kindsOf(OID)).toEqual(['asked', 'written', 'sent', 'accepted', 'bankDid', 'answered', 'settled', 'callerAnswered']);
  });

  it('has each request to stop, with what became of it, and its page says that it was stopped', async () => {
    const documentNr = world.random.uuid();
    const paying = world.server.app.inject({
      method: 'POST',
      url: '/Device/payment/Pay',
      payload: { APIKey: world.key, DeviceID: terminal.id, amount: 33.64, documentNr },
    });
    await world.clock.runUntil(() => world.ledger.stats().inFlight === 1, 1_000);
    await world.clock.advance(1_000);
    const stop = { DeviceID: terminal.id, documentNr, operationId: 'none', amount: 33.64, token: '' };
    expect(await world.erp('/Device/payment/CancelTransaction', stop)).toMatchObject({ errorCode: 0, State: 'Refused' });
    const { OID } = (await paying).json<Answered & { OID: string }>();
    const { outcome, timeline, steps } = (await page(OID)) as Page & { steps: object[] };
    expect(outcome.key).toBe('outcome.stopped');
    expect(steps.length).toBeGreaterThan(0);
    const aborts = timeline.filter(({ kind }) => kind === 'abort').map(({ text }) => text.key);
    expect(aborts).toEqual(isNewCore ? ['step.abort.done'] : []);
    const kinds = timeline.map(({ kind }) => kind);
    if (isNewCore) expect(kinds.indexOf('abort')).toBeLessThan(kinds.indexOf('settled'));
  });

  it('has a decision, the contradiction of the device and the resolution, each with its settlement', async () => {
    const { decided, isBack, resolve } = disputesIn(() => world);
    const id = await decided(terminal.id, () => world.pay(terminal.id, 10), 'refused');
    await isBack(terminal.id);
    await resolve(id, 'done');
    const told = (await kindsOf(id)).filter((kind) => ['unknown', 'decided', 'settled', 'contradiction', 'reviewClosed'].includes(kind));
    expect(told).toEqual(['unknown', 'decided', 'settled', 'contradiction', 'reviewClosed', 'settled']);
  });

  it('says that other hardware answered, and the page of the device that it is other hardware', async () => {
    world.onAnswer = () => undefined;
    const id = String((await pay(50))['OID']);
    await terminal.stop();
    world.onAnswer = (answer) => answer;
    await world.terminal({ id: terminal.id });
    await world.clock.advance(20 * 60_000);
    expect(await world.act(`/commands/${id}/decide`, { state: 'refused', reason: 'Nothing at the bank.' })).toMatchObject({ errorCode: 0 });
    await world.clock.advance(60_000);
    expect(await kindsOf(id)).toContain('otherHardware');
    expect((await page(id)).advice.key).toBe('advice.payOtherwise');
    const listed = async () => {
      const { devices } = (await world.look('/devices')) as unknown as { devices: { id: string; waitingForOther?: number }[] };
      return devices.find((device) => device.id === terminal.id)?.waitingForOther;
    };
    expect(await listed()).toBe(1);
    expect(await world.act(`/devices/${terminal.id}/hardware-lost`, { reason: 'Broken.' })).toMatchObject({ errorCode: 0, released: 1 });
    expect(await listed()).toBeUndefined();
    expect(await kindsOf(id)).toContain('hardwareLost');
    expect((await page(id)).advice.key).toBe('advice.anotherCard');
  });
});
