// The order of every call to a device: what is handed to the ledger, which device it may be, and what the caller is answered.
import { beforeEach, expect, it } from 'vitest';
import type { MerchantDevice } from '../../src/access/merchant-device.ts';
import type { CommandCall, CommandPlan } from '../../src/ledger/calls/call.ts';
import type { DeviceCall } from '../../src/ledger/calls/device-call.ts';
import type { Ran } from '../../src/ledger/calls/run-or-join.ts';
import type { Command } from '../../src/ledger/command.ts';
import { type DeviceDeps, requireDevice, runOnDevice, runOnDeviceAtOnce } from '../../src/ledger/run-on-device.ts';
import { memoryDatabase } from '../support/engines.ts';
import { createFakeRecipient } from '../support/fake-recipient.ts';
import { seedDevice, seedMerchant } from '../support/fixtures.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const done = { id: 'c', state: 'done', report: '{"rrn":"1"}', removedAtMs: null, documentState: null } as Command;
const recipient = createFakeRecipient();
const call = { merchantId: 'm', deviceId: 'd', hashRequest: () => 'h', recipient, amountBani: 7 } as DeviceCall;
const refund = { name: 'Refund', args: {}, answerWithinMs: 1 } as const;

let ran: Ran | undefined;
let asked: CommandCall[];
let plans: CommandPlan[];
let answered: unknown[];
let deps: DeviceDeps;

beforeEach(() => {
  ran = { command: done, isEarlier: false, isRepeated: false };
  asked = [];
  plans = [];
  answered = [];
  const run = async (request: CommandCall, plan: () => Promise<CommandPlan>) => {
    asked.push(request);
    plans.push(await plan());
    return ran;
  };
  const ledger = {
    run,
    runAtOnce: run,
    ownDevice: async (): Promise<MerchantDevice> => ({ id: 'd', kind: 'terminal', journalId: 'j' }) as MerchantDevice,
    outcomeDelivery: { answered: (...args: unknown[]) => answered.push(args) },
  };
  deps = { database: {}, ledger } as unknown as DeviceDeps;
});

it('the ledger is handed what it looks for, and the plan what is sent: nothing of the call besides', async () => {
  const findEarlier = async () => undefined;
  await runOnDevice(deps, 'terminal', call, { isKnownByContent: true, findEarlier, insertRejectsDuplicates: true, plan: () => refund });
  expect(asked).toEqual([{ merchantId: 'm', deviceId: 'd', requestHash: 'h', recipient, findEarlier, insertRejectsDuplicates: true }]);
  expect(plans).toEqual([{ ...refund, journalId: 'j', preferredChannel: 'mqtt' }]);
});

it('a call that has a number is not known by its content, on the short way neither, and is never hashed', async () => {
  const hashRequest = () => expect.unreachable();
  await runOnDevice(deps, 'terminal', { ...call, hashRequest }, { isKnownByContent: false, plan: () => refund });
  await runOnDeviceAtOnce(deps, 'terminal', { ...call, hashRequest }, () => refund);
  expect(asked.map(({ requestHash, insertRejectsDuplicates }) => [requestHash, insertRejectsDuplicates])).toEqual([
    [undefined, undefined],
    [undefined, true],
  ]);
});

it('the caller is answered with the outcome, and the ledger records that answer', async () => {
  const work = { isKnownByContent: false, plan: () => refund };
  expect(await runOnDevice(deps, 'terminal', call, work)).toEqual({ OID: 'c', State: 'Done', report: '{"rrn":"1"}' });
  ran = { command: done, isEarlier: true, isRepeated: true };
  expect(await runOnDeviceAtOnce(deps, 'terminal', call, () => refund)).toMatchObject({ OID: 'c', Repeated: true });
  expect(answered).toEqual([
    [done, recipient],
    [done, recipient],
  ]);
});

it('the short way that wrote nothing tells nothing', async () => {
  ran = undefined;
  expect(await runOnDeviceAtOnce(deps, 'terminal', call, () => refund)).toBeUndefined();
  expect(answered).toEqual([]);
});

it('a device of the wrong kind is 40, and nothing is planned for it', async () => {
  const plan = () => {
    throw new Error('nothing is planned');
  };
  await expect(runOnDevice(deps, 'register', call, { isKnownByContent: false, plan })).rejects.toMatchObject({
    errorName: 'Invalid_Request',
    message: expect.stringContaining('for fiscal registers'),
  });
  const database = await memoryDatabase(createVirtualClock());
  const { id: merchantId } = await seedMerchant(database.queries);
  const { id: deviceId } = await seedDevice(database.queries, merchantId);
  const own = { merchantId, deviceId } as DeviceCall;
  expect(await requireDevice({ database }, 'terminal', own)).toMatchObject({ id: deviceId });
  await expect(requireDevice({ database }, 'register', own)).rejects.toMatchObject({ errorName: 'Invalid_Request' });
});
