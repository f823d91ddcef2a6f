// The devices of the playground as a person sees and operates them. They are virtual devices that use the real protocol.
import type { FaultsChange } from '../cabinet/playground/port.ts';
import type { DeviceView, personActs } from '../cabinet/playground/view-schema.ts';
import type { Database } from '../database/database.ts';
import { GatewayError } from '../kernel/error-codes.ts';
import type { Logger } from '../kernel/logger.ts';
import { isoTime } from '../kernel/moments.ts';
import { baniToLei } from '../kernel/money.ts';
import type { Command } from '../ledger/command.ts';
import { findHolder } from '../ledger/device-lock.ts';
import type { VirtualDevice } from '../virtual/devices/virtual-device.ts';

export interface ShopDevice {
  device: VirtualDevice;
  secret: string;
  bank?: string | undefined;
}

export type Shop = ReturnType<typeof createShop>;

export interface ShopDeps {
  database: Pick<Database, 'queries'>;
  devices: readonly ShopDevice[];
  logger: Logger;
  onChange(): void;
}

const maxPaperLines = 200;
const via = ['mqtt', 'queue'] as const;

export function createShop({ database, devices, logger, onChange }: ShopDeps) {
  const heldBy = (device: VirtualDevice) => findHolder(database.queries, device.deviceId);

  function find(deviceId: string, kind?: 'terminal' | 'register'): ShopDevice {
    const found = devices.find(({ device }) => device.deviceId === deviceId);
    if (!found) throw new GatewayError('Record_not_exist', 'The playground has no device by that id.');
    if (kind !== undefined && found.device.kind !== kind)
      throw new GatewayError('The_status_cannot_be_applied', `That device is a ${found.device.kind}; a ${kind} is needed.`);
    return found;
  }

  function switchTo(device: VirtualDevice, isOn: boolean): Promise<void> {
    return device
      .setPower(isOn)
      .catch((error: unknown) => logger.error({ err: error, deviceId: device.deviceId }, 'a device of the playground does not start'))
      .finally(onChange);
  }

  return {
    /** Throws if there is none, or none of that kind. */
    find,
    all: (): readonly ShopDevice[] => devices,
    first(kind: 'terminal' | 'register'): ShopDevice {
      const found = devices.find(({ device }) => device.kind === kind);
      if (!found) throw new GatewayError('Record_not_exist', `The playground has no ${kind}.`);
      return found;
    },
    /** The operation that blocks the device: in flight, unresolved, or a payment that awaits CloseDoc. */
    heldBy,
    views: () => Promise.all(devices.map(async (one) => viewOf(one, await heldBy(one.device)))),
    setByHand(deviceId: string, byHand: boolean): void {
      find(deviceId).device.customer.setByHand(byHand);
      onChange();
    },
    act(deviceId: string, action: (typeof personActs)[number]): void {
      const { device } = find(deviceId);
      if (action === 'newRoll') device.newRoll();
      else if (action === 'powerOn') void switchTo(device, true);
      else if (!device.customer.act(action)) {
        const waitsFor = device.customer.waitsFor();
        const sentence = waitsFor === undefined ? 'The device waits for no person now.' : `The device waits for the ${waitsFor} now.`;
        throw new GatewayError('The_status_cannot_be_applied', sentence);
      }
      onChange();
    },
    arm(deviceId: string, { powerCut, ...change }: FaultsChange): void {
      const { device } = find(deviceId);
      const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
      device.mishaps.arm({ ...given, ...(powerCut === undefined ? {} : { powerCut: powerCut ?? undefined }) });
      if (change.paperOut === false) device.newRoll();
      onChange();
    },
    setChannel(deviceId: string, channel: 'mqtt' | 'queue', isCut: boolean): void {
      find(deviceId).device.setFaults({ [channel]: !isCut });
      onChange();
    },
    setPower(deviceId: string, isOn: boolean): void {
      void switchTo(find(deviceId).device, isOn);
    },
    /** Resets all devices: automatic, on, with paper, both channels up, no fault armed. */
    async putInOrder(): Promise<void> {
      for (const { device } of devices) {
        device.customer.setByHand(false);
        device.newRoll();
        device.mishaps.arm({ loseAnswer: false, answerTwice: false, powerCut: undefined });
        device.setFaults({ mqtt: true, queue: true });
        await switchTo(device, true);
      }
    },
  };
}

function viewOf({ device, bank }: ShopDevice, holder: Command | undefined): DeviceView {
  const isOn = device.isOn();
  const faults = device.faults();
  const { state, amountBani, ...display } = device.screen.display();
  const { loseAnswer, answerTwice, paperOut, powerCut } = device.mishaps.armed();
  const paper = device.screen.paper();
  return {
    id: device.deviceId,
    kind: device.kind,
    name: device.name,
    bank,
    isOn,
    byHand: device.customer.isByHand,
    channels: via.map((channel) => ({ via: channel, isConnected: device.isConnected(channel), isCut: !faults[channel] })),
    screen: isOn
      ? { ...display, state, ...(amountBani === undefined || amountBani === 0 ? {} : { amount: baniToLei(amountBani) }) }
      : { state: 'off', text: '' },
    waitsFor: device.customer.waitsFor(),
    heldBy: holder && {
      commandId: holder.id,
      documentState: holder.documentState ?? undefined,
      amount: holder.amountBani === null ? undefined : baniToLei(holder.amountBani),
    },
    faults: { loseAnswer, answerTwice, paperOut, powerCut },
    paper: paper && {
      lines: paper.text.split('\n').slice(0, maxPaperLines),
      at: isoTime(paper.atMs),
      kind: paper.kind,
      number: paper.number,
    },
  };
}
