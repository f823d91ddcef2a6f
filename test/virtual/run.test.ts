import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import type { VirtualDevice } from '../../src/virtual/devices/virtual-device.ts';
import { startVirtualDevice } from '../../src/virtual/run.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { until } from '../support/until.ts';

const deviceId = '44444444-4444-4444-8444-444444444444';
const commandId = '55555555-5555-4555-8555-555555555555';
let stateDir: string;

beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'tillgate-device-'));
});

afterEach(async () => {
  await rm(stateDir, { recursive: true, force: true });
});

function start(kind: 'terminal' | 'register'): Promise<VirtualDevice> {
  const world = { clock: systemClock, random: systemRandom, logger: quietLogger };
  return startVirtualDevice({ ...world, kind, deviceId, secret: 's', name: 'Till', stateDir, restartAfterMs: 10 });
}

describe('a virtual device with its files', () => {
  it('keeps journal, bank book and fiscal memory over a restart of its process', async () => {
    const first = await start('register');
    const args = { receipt: { Items: [{ Name: 'a', Quantity: 1, Price: 7 }], Payments: [{ PaymentCode: 1 }] } };
    const ending = await first.perform({ id: commandId, name: 'PrintReceipt', args });
    expect(ending.outcome).toBe('done');
    const { journalId } = first.journal();
    await first.stop();

    const second = await start('register');
    expect(second.journal().journalId).toBe(journalId);
    expect(await second.perform({ id: commandId, name: 'PrintReceipt', args })).toEqual(ending);
    expect(second.bank.netBani()).toBe(700);
    expect(second.fiscalMemory().documents()).toHaveLength(1);
    await second.stop();
  });

  it('keeps the pictures of what it printed, the newest 200', async () => {
    const tray = join(stateDir, 'paper');
    await mkdir(tray);
    for (let old = 0; old < 200; old += 1) await writeFile(join(tray, `2020${String(old).padStart(4, '0')}.svg`), 'old');
    const device = await start('register');
    const args = { receipt: { Items: [{ Name: 'Coffee', Quantity: 1, Price: 7 }], Payments: [{ PaymentCode: 0 }] } };
    await device.perform({ id: commandId, name: 'PrintReceipt', args });
    await device.stop();
    const names = (await readdir(tray)).sort();
    expect(names).toHaveLength(200);
    expect(names).not.toContain('20200000.svg');
    expect(await readFile(join(tray, names.at(-1) ?? ''), 'utf8')).toMatch(/^<svg .*Coffee/s);
  });

  it('writes what a person would see', async () => {
    const lines: string[] = [];
    const world = { clock: systemClock, random: systemRandom, logger: quietLogger };
    const log = (line: string) => lines.push(line);
    const device = await startVirtualDevice({ ...world, kind: 'terminal', deviceId, secret: 's', name: 'Till', stateDir, log });
    await device.perform({ id: commandId, name: 'Pay', args: { amount: 5, currency: 'MDL' } });
    expect(lines[0]).toBe('5.00 MDL: present the card');
    await device.stop();
  });
});

describe('kill -9 of the device while it works', () => {
  it.each([0, 20, 40, 60, 80, 110, 140])('%i ms into a card receipt: bank, memory and journal agree afterwards', async (afterMs) => {
    await killWhileWorking(afterMs);
    const device = await start('register');
    await until(() => device.journal().unfinished().length === 0);
    const outcome = device.journal().find(commandId)?.outcome;
    const facts = [outcome, device.bank.netBani(), device.fiscalMemory().documents().length];
    // Killed before anything was written it knows nothing of the command.
    expect(facts).toEqual(outcome === 'done' ? ['done', 700, 1] : [outcome === undefined ? undefined : 'refused', 0, 0]);
    await device.stop();
  });
});

/** A child that prints a receipt slowly enough to be hit in the middle, killed `afterMs` after it began. */
function killWhileWorking(afterMs: number): Promise<void> {
  const module = (name: string) => JSON.stringify(new URL(`../../src/${name}`, import.meta.url).href);
  const program = `
    import { startVirtualDevice } from ${module('virtual/run.ts')};
    import { systemClock, systemRandom } from ${module('kernel/system.ts')};
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    const device = await startVirtualDevice({ kind: 'register', deviceId: '${deviceId}', secret: 's', name: 'Till', stateDir: ${JSON.stringify(stateDir)},
      clock: systemClock, random: systemRandom, logger, timing: { customerMs: 30, bankMs: 30, printMs: 30 } });
    process.stdout.write('working');
    await device.perform({ id: '${commandId}', name: 'PrintReceipt', args: { receipt: { Items: [{ Name: 'a', Quantity: 1, Price: 7 }], Payments: [{ PaymentCode: 1 }] } } });
    setInterval(() => {}, 1000);`;
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
    child.stdout.once('data', () => setTimeout(() => child.kill('SIGKILL'), afterMs));
    child.once('error', reject);
    child.once('close', () => resolve());
  });
}
