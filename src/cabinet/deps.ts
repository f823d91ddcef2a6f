// What the cabinet's routes use of the other rooms.
import type { Access } from '../access/access.ts';
import type { People } from '../access/people/people.ts';
import type { Callbacks } from '../callbacks/callbacks.ts';
import type { Cards } from '../cards/cards.ts';
import type { Database } from '../database/database.ts';
import type { Devices } from '../devices/devices.ts';
import type { Fiscal } from '../fiscal/fiscal.ts';
import type { Invoices } from '../invoices/invoices.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Random } from '../kernel/random.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Link } from '../link/link.ts';

export interface CabinetDeps extends Pick<Invoices, 'cancelUnpaidInvoice' | 'qrOf' | 'rotateQrSecret'> {
  database: Database;
  clock: Clock;
  random: Random;
  access: Access;
  people: People;
  devices: Devices;
  callbacks: Pick<Callbacks, 'attempts' | 'wake' | 'sendTest'>;
  link: Pick<Link, 'presence' | 'locate' | 'ask' | 'droppedOf' | 'dropNotesOf'>;
  ledger: Pick<Ledger, 'find' | 'findByKey' | 'listReview' | 'decide' | 'askDevice' | 'timelineOf'>;
  cards: Pick<Cards, 'refund' | 'cancelTransaction' | 'closeDoc' | 'closeDocumentByHand' | 'closeDay' | 'lastTransaction'>;
  fiscal: Pick<Fiscal, 'createReport'>;
  basePath: string;
  publicUrl?: string | undefined;
  isSandbox: boolean;
  version: string;
  banks: readonly { code: string; name: string }[];
}
