// All planted bugs, which show that the simulation or the tests would find them.
import { accessBugs } from './access-bugs.ts';
import { batchBugs } from './batch-bugs.ts';
import { coreCallBugs } from './core-call-bugs.ts';
import { coreCaseBugs } from './core-case-bugs.ts';
import { coreCommitBugs } from './core-commit-bugs.ts';
import { coreDeviceBugs } from './core-device-bugs.ts';
import { disputeBugs } from './dispute-bugs.ts';
import { invoiceBatchBugs } from './invoice-batch-bugs.ts';
import { ledgerBugs } from './ledger-bugs.ts';
import { meanwhileBugs } from './meanwhile-bugs.ts';
import type { PlantedBug } from './planted-bug.ts';
import { roomBugs } from './room-bugs.ts';
import { wrongDoneBugs } from './wrong-done-bugs.ts';

export const plantedBugs: readonly PlantedBug[] = [
  ...ledgerBugs,
  ...batchBugs,
  ...invoiceBatchBugs,
  ...roomBugs,
  ...meanwhileBugs,
  ...accessBugs,
  ...disputeBugs,
  ...wrongDoneBugs,
  ...coreCaseBugs,
  ...coreCommitBugs,
  ...coreCallBugs,
  ...coreDeviceBugs,
];
