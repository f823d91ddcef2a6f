// One sandbox for a whole test file: its till, its virtual devices and their books.
import { join } from 'node:path';
import { expectRegisterAgrees, expectTerminalAgrees, readLedger } from '../support/books.ts';
import { type SandboxProcess, type Settings, startSandboxProcess, temporaryDirectory } from '../support/gateway-process.ts';
import { createTill, type Till } from '../support/till.ts';

export interface SandboxShop {
  sandbox: SandboxProcess;
  till: Till;
  terminals: string[];
  registers: string[];
  stateDir(deviceId: string): string;
  /** Ledger, bank books and fiscal memories of all devices agree. */
  expectBooksAgree(): Promise<void>;
  close(): Promise<void>;
}

export async function openSandboxShop(settings: Settings = {}): Promise<SandboxShop> {
  const sandbox = await startSandboxProcess(temporaryDirectory(), settings);
  const idsOf = (wanted: string) => sandbox.file.devices.filter(({ kind }) => kind === wanted).map(({ id }) => id);
  const stateDir = (deviceId: string) => join(sandbox.dataDir, 'devices', deviceId);
  return {
    sandbox,
    till: createTill(sandbox.file),
    terminals: idsOf('terminal'),
    registers: idsOf('register'),
    stateDir,
    async expectBooksAgree() {
      const ledger = await readLedger(sandbox);
      for (const { id, kind } of sandbox.file.devices) {
        const books = { ledger, deviceId: id, stateDir: stateDir(id) };
        if (kind === 'terminal') expectTerminalAgrees(books);
        else expectRegisterAgrees(books);
      }
    },
    close: () => sandbox.kill9(),
  };
}
