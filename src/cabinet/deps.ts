// What the cabinet's routes use of the other rooms.

import type { Access } from '../access/access.ts';
import type { People } from '../access/people/people.ts';
import type { Callbacks } from '../callbacks/callbacks.ts';
import type { Cards } from '../cards/cards.ts';
import type { Shared } from '../database/shared-deps.ts';
import type { Devices } from '../devices/devices.ts';
import type { Fiscal } from '../fiscal/fiscal.ts';
import type { Invoices } from '../invoices/invoices.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Link } from '../link/link.ts';
import type { DryRuns } from '../money/rooms.ts';

export interface CabinetDeps
  extends Pick<Invoices, 'cancelInvoice' | 'qrOf' | 'rotateQrSecret'>,
    Pick<Shared, 'database' | 'clock' | 'random'> {
  access: Access;
  people: People;
  devices: Devices;
  callbacks: Pick<Callbacks, 'attempts' | 'wake' | 'sendTest'>;
  link: Pick<Link, 'presence' | 'locate' | 'ask' | 'droppedOf' | 'dropNotesOf'>;
  ledger: Pick<Ledger, 'find' | 'findByKey' | 'listReview' | 'decide' | 'declareLost' | 'waitingDecisions' | 'askDevice' | 'timelineOf'>;
  cards: Pick<Cards, 'refund' | 'cancelTransaction' | 'closeDoc' | 'closeDocumentByHand' | 'closeDay' | 'lastTransaction'>;
  fiscal: Pick<Fiscal, 'createReport'>;
  /** Of the new core; undefined: the old one runs. */
  dryRuns?: DryRuns | undefined;
  basePath: string;
  publicUrl?: string | undefined;
  isSandbox: boolean;
  version: string;
  banks: readonly { code: string; name: string }[];
}
