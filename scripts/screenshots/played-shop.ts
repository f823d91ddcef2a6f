// A sandbox in this process with played days: the same weekday a week ago, yesterday with its evening, and today until half past two
// with cases for a person. The date is always the same, so that pictures of two versions can be compared.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSandbox } from '../../src/cli/sandbox.ts';
import { startSink } from '../../src/cli/sink.ts';
import { readConfig } from '../../src/config.ts';
import { systemRandom } from '../../src/kernel/system.ts';
import { createLeapingClock } from './leaping-clock.ts';
import { createShopDay } from './shop-day.ts';

export const zone = 'Europe/Chisinau';
/** Thursday, 12 November 2026, midnight in Chișinău. */
const todayMs = Date.parse('2026-11-11T22:00:00Z');
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
export const nowMs = todayMs + 14.53 * hourMs;

export interface PlayedShop {
  baseUrl: string;
  /** Of the sale whose answer was lost. */
  lostAnswerPath: string;
  paidInvoicePath: string;
  /** In the shop's own time. */
  now(): number;
  stop(): Promise<void>;
}

/** mulberry32: small, and the same at every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export async function openPlayedShop(tell: (line: string) => void): Promise<PlayedShop> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tillgate-pictures-'));
  const clock = createLeapingClock(todayMs - 7 * dayMs + 7.5 * hourMs, { isFelt: false });
  const quiet = () => undefined;
  const logger = {
    debug: quiet,
    info: quiet,
    warn: quiet,
    error: (fields: object, message: string) => tell(`${message} ${JSON.stringify(fields)}`),
  };
  const erp = await startSink({ port: 0, status: 200, clock, secret: quiet, print: quiet });
  const deadErp = await startSink({ port: 0, status: 502, clock, secret: quiet, print: quiet });
  const config = readConfig('sandbox', {
    TILLGATE_DATA_DIR: dataDir,
    TILLGATE_PORT: '0',
    TILLGATE_MQTT_PORT: '0',
    TILLGATE_CALLBACK_DELAYS_S: '1,2',
  });
  const sandbox = await startSandbox(config, { clock, random: systemRandom, logger });
  const { file } = sandbox;
  const callbackTo = (port: number) => `http://127.0.0.1:${port}/erp?oid=#OID#&state=#State#&receipt=#ReceiptID#`;
  const shop = createShopDay({ file, clock, erpUrl: callbackTo(erp.port), fraction: seeded(12) });
  const { terminals, post, sellByCard } = shop;
  const [first = '', second = '', third = '', fourth = ''] = terminals;
  const [register = ''] = shop.registers;

  tell('a week ago');
  await shop.playHours(todayMs - 7 * dayMs, todayMs - 6 * dayMs);
  clock.leapTo(todayMs - 6 * dayMs - 3 * hourMs);
  await shop.closeDay();
  tell('yesterday');
  await shop.playHours(todayMs - dayMs, todayMs);
  clock.leapTo(todayMs - 3.2 * hourMs);
  // The register ran out of paper: charged, and without a receipt.
  await sellByCard(first, 89);
  await post('/Device/Money/Out', { DeviceID: register, Amount: 500, Reason: 'To the bank' });
  clock.leapTo(todayMs - 3 * hourMs);
  await shop.closeDay();

  tell('today');
  await shop.playHours(todayMs, nowMs - hourMs);
  clock.leapTo(nowMs - 0.9 * hourMs);
  const back = await sellByCard(first, 214.5);
  if (back) await shop.refund(back, 64.5);
  const wrong = await sellByCard(second, 75, false);
  if (wrong) await shop.giveBack(wrong);
  await sellByCard(third, 120.61);
  await shop.invoice(callbackTo(erp.port));
  const dead = await shop.invoice(callbackTo(deadErp.port));
  await shop.payInvoice(dead);
  clock.leapTo(nowMs - 0.3 * hourMs);
  await sellByCard(second, 186.2, false);
  clock.leapTo(nowMs - 0.1 * hourMs);
  await sellByCard(third, 98.68);

  tell('a lost answer');
  const documentNr = randomUUID();
  const lost = post('/Device/payment/Pay', { DeviceID: first, amount: 150.66, documentNr });
  const paid = await lost;
  const report = JSON.parse(paid.report ?? '{}') as { operationId?: string };
  await post('/Device/payment/CloseDoc', { DeviceID: first, documentNr, operationId: report.operationId });
  await post('/Device/Invoice/Pay', { DeviceID: register, Receipt: { ...shop.receiptOf(shop.basket(), 0), Uid: documentNr } });
  const paidInvoice = await shop.invoice(callbackTo(erp.port));
  await shop.payInvoice(paidInvoice);
  // Still waiting for the card when the pictures are taken; it may end with the sandbox.
  sellByCard(fourth, 612.64).catch(() => undefined);
  const found = await find(file, '/commands?mode=cards&minAmount=150.66&maxAmount=150.66');
  const invoices = await find(file, '/invoices?state=Payed');
  return {
    baseUrl: file.baseUrl,
    lostAnswerPath: `/payments/${String(found['commands']?.[0]?.['id'])}`,
    paidInvoicePath: `/invoices/${String(invoices['invoices']?.[0]?.['oid'])}`,
    now: () => clock.now(),
    async stop() {
      await sandbox.stop();
      await erp.stop();
      await deadErp.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function find(
  file: { baseUrl: string; adminToken: string },
  path: string,
): Promise<Record<string, Record<string, unknown>[] | undefined>> {
  const answer = await fetch(`${file.baseUrl}/cabinet/api${path}`, { headers: { authorization: `Bearer ${file.adminToken}` } });
  return (await answer.json()) as Record<string, Record<string, unknown>[] | undefined>;
}
