// The playground of the sandbox: its devices, a till that is a small real ERP, the messages between them, four books and six stories.
// Its state is in memory and ends with the process, except for the real books. It exists only in a sandbox.

import type { PlaygroundPort } from '../cabinet/playground/port.ts';
import { storyNames } from '../cabinet/playground/view-schema.ts';
import { readSigningSecrets } from '../callbacks/signing-secrets.ts';
import type { Shared } from '../database/shared-deps.ts';
import type { Clock } from '../kernel/clock.ts';
import { baniToLei } from '../kernel/money.ts';
import { readBooks } from './books.ts';
import { createChanges } from './changes.ts';
import { createApiCalls } from './erp/api-calls.ts';
import { createQrSale } from './erp/qr-sale.ts';
import { createErpBook, itemViews, type Sale, saleView } from './erp/sale.ts';
import { type ErpSink, startErpSink } from './erp/sink.ts';
import { Till } from './erp/till.ts';
import { createShop, type ShopDevice } from './shop.ts';
import { createStoryRunner } from './stories/runner.ts';
import { createWireLog } from './wire-log.ts';

export interface Playground extends PlaygroundPort {
  stop(): Promise<void>;
}

export interface PlaygroundDeps extends Pick<Shared, 'database' | 'clock' | 'random' | 'logger'> {
  merchantId: string;
  apiKey: string;
  baseUrl: string;
  devices: readonly ShopDevice[];
  ether: Ether;
  /** Pause between the actions of cashier and customer in a story, so that a viewer can follow. */
  momentMs: number;
  /** Notifies pages of a change. */
  tell(version: number): void;
}

/** Observers of the devices' messages, created before the devices start. */
export type Ether = ReturnType<typeof createEther>;

export function createEther(clock: Clock) {
  let listener = () => {};
  return {
    wire: createWireLog(clock, () => listener()),
    /** Calls the listener at every message, and when a channel connects or disconnects. */
    listen(added: () => void): void {
      listener = added;
    },
  };
}

export async function startPlayground(deps: PlaygroundDeps): Promise<Playground> {
  const { database, clock, merchantId, ether } = deps;
  const changes = createChanges(clock, deps.tell);
  const onChange = () => changes.changed();
  ether.listen(onChange);
  for (const { device } of deps.devices) {
    device.screen.listen(onChange);
    device.customer.listen(onChange);
  }

  const shared = { ...deps, onChange };
  const shop = createShop(shared);
  const book = createErpBook(() => clock.now());
  const calls = createApiCalls(shared);
  // The till and the receiver depend on each other; the receiver is created last and not used before.
  const theSink = (): ErpSink => sink;
  const till = new Till({ ...shared, calls, book, shop, sink: theSink });
  const qrSale = createQrSale({ ...shared, calls, till, shop, sink: theSink });
  const sink = await startErpSink({
    ...shared,
    secrets: () => readSigningSecrets(database.queries, merchantId),
    received(callback) {
      till.received(callback);
      qrSale.received(callback);
    },
  });

  const booksOf = (sales: readonly Sale[]) =>
    readBooks(
      { queries: database.queries, merchantId, devices: deps.devices.map(({ device }) => device) },
      { sales, sinceMs: book.sinceMs, underWay: till.underWay },
    );
  const stories = createStoryRunner({ ...shared, changes, wire: ether.wire, till, qrSale, shop, sink: theSink, booksOf });

  return {
    merchantId,
    async read() {
      const { items, totalBani } = till.basket();
      const last = book.last();
      // Copied before the books are read: a story that ends in between would be shown with the books of a running sale.
      const story = structuredClone(stories.view());
      return {
        devices: await shop.views(),
        till: {
          sale: { items: itemViews(items), total: baniToLei(totalBani) },
          lastSale: last && saleView(last),
          invoice: qrSale.view(),
        },
        calls: calls.views(),
        callbacks: sink.views(),
        erp: { isDown: sink.isDown },
        wire: ether.wire.messages(),
        books: await booksOf(book.sales()),
        story,
        stories: [...storyNames],
        stepByStep: stories.isStepByStep(),
      };
    },
    ...shop,
    sell: (request) => ({ saleId: till.sell(request).id }),
    createInvoice: (request) => ({ saleId: qrSale.create(request).sale.id }),
    scanInvoice: (deviceId) => void qrSale.scan(deviceId),
    payInvoice: (deviceId) => void qrSale.pay(deviceId),
    refund: (amountBani) => void till.refund(book.last(), amountBani),
    again: () => till.again(),
    setErpDown(isDown) {
      sink.isDown = isDown;
      onChange();
    },
    emptyBooks() {
      book.empty();
      onChange();
    },
    play: stories.play,
    stopStory: stories.stop,
    setStepByStep: stories.setStepByStep,
    nextStep: stories.nextStep,
    async stop() {
      changes.stop();
      till.stop();
      for (const { device } of deps.devices) device.customer.act('cancel');
      calls.stop();
      await sink.stop();
    },
  };
}
