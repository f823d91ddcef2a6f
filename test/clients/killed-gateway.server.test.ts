// Both clients sell while the gateway is killed with SIGKILL under them: every sale ends as done, and is in the books exactly once.
// The cash movements have no number of their own: only the client's key keeps them from being made twice.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTillgate } from '../../clients/typescript/src/index.ts';
import { readBank, readFiscalMemory } from '../support/books.ts';
import { patienceMs, serveSettings, temporaryDirectory } from '../support/gateway-process.ts';
import { openShop, type Shop, type ShopDevice } from '../support/served-shop.ts';
import { python } from './packed.ts';

interface Sale {
  amount: string;
  documentNr: string;
}
interface Plan {
  baseUrl: string;
  apiKey: string;
  patienceS: number;
  terminal: string;
  register: string;
  sales: Sale[];
}
/** As in sales.py. */
const maxTries = 10;
type Told = { begins: string } | { ended: string; outcomes: string[] };

let shop: Shop;
let apiKey: string;
const devices: { terminal: ShopDevice; register: ShopDevice }[] = [];

beforeAll(async () => {
  shop = await openShop(await serveSettings({ TILLGATE_DATA_DIR: temporaryDirectory() }));
  const made = await shop.till.admin('/keys', { merchantId: shop.merchantId, name: 'Clients', modules: ['POS', 'QR', 'Fiscal'] });
  apiKey = String(made['key']);
  for (let count = 0; count < 2; count += 1) {
    const [terminal, register] = await Promise.all([
      shop.addDevice('terminal', { slowMs: 700 }),
      shop.addDevice('register', { slowMs: 300 }),
    ]);
    devices.push({ terminal, register });
  }
}, 6 * patienceMs);
afterAll(() => shop?.close());

/** A gateway that was killed before it sent anything, or that its device has not come back to: nothing was done, and a cashier tries again. */
async function unlessNotDone<Ended extends { outcome: string }>(call: () => Promise<Ended>): Promise<Ended> {
  for (let tries = 1; ; tries += 1) {
    const ended = await call();
    if (ended.outcome !== 'notDone' || tries === maxTries) return ended;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}

async function sellInTypescript({ sales, terminal, register, patienceS, ...access }: Plan, tell: (told: Told) => void): Promise<void> {
  const tillgate = createTillgate({ ...access, startPatienceMs: patienceS * 1000, outcomePatienceMs: patienceS * 1000 });
  for (const { amount, documentNr } of sales) {
    tell({ begins: amount });
    const payment = await unlessNotDone(() => tillgate.pay({ DeviceID: terminal, amount, documentNr }));
    const outcomes: string[] = [payment.outcome];
    if (payment.outcome === 'done') {
      const { operationId } = payment.report;
      outcomes.push((await unlessNotDone(() => tillgate.closeDoc({ DeviceID: terminal, documentNr, operationId }))).outcome);
      outcomes.push((await unlessNotDone(() => tillgate.cashIn({ DeviceID: register, Amount: amount }))).outcome);
    }
    tell({ ended: amount, outcomes });
  }
}

async function sellInPython(plan: Plan, tell: (told: Told) => void): Promise<void> {
  const script = fileURLToPath(new URL('sales.py', import.meta.url));
  const child = spawn(python, ['-B', script, JSON.stringify(plan)], { stdio: ['ignore', 'pipe', 'inherit'] });
  createInterface({ input: child.stdout }).on('line', (line) => tell(JSON.parse(line) as Told));
  await new Promise((resolve) => {
    child.once('close', resolve);
  });
}

it('sells on, and nothing is done twice or lost', { timeout: 12 * patienceMs }, async () => {
  const plans = devices.map(({ terminal, register }, index): Plan => {
    const sales = [1, 2, 3, 4].map((number) => ({ amount: `${100 * (index + 1) + number}.20`, documentNr: randomUUID() }));
    const access = { baseUrl: shop.gateway.baseUrl, apiKey, patienceS: 90 };
    return { ...access, terminal: terminal.id, register: register.id, sales };
  });
  const ended: Extract<Told, { ended: string }>[] = [];
  let killing = Promise.resolve();
  let kills = 0;
  const tell = (told: Told) => {
    if ('ended' in told) ended.push(told);
    // In the middle of a payment of the one, and of whatever the other does then.
    else if (['102.20', '203.20'].includes(told.begins)) {
      killing = killing.then(async () => {
        await new Promise((resolve) => setTimeout(resolve, 350));
        await shop.gateway.kill9();
        kills += 1;
        await shop.restartGateway();
      });
    }
  };
  const [first, second] = plans as [Plan, Plan];
  await Promise.all([sellInTypescript(first, tell), sellInPython(second, tell)]);
  await killing;
  expect(kills).toBe(2);
  const amounts = plans.flatMap(({ sales }) => sales.map(({ amount }) => amount)).sort();
  expect(ended.sort((one, other) => one.ended.localeCompare(other.ended))).toEqual(
    amounts.map((amount) => ({ ended: amount, outcomes: ['done', 'done', 'done'] })),
  );
  for (const [index, { terminal, register }] of devices.entries()) {
    const wanted = plans[index]?.sales.map(({ amount }) => Math.round(Number(amount) * 100));
    const charged = readBank(terminal.stateDir).filter(({ kind }) => kind === 'charge');
    expect(charged.map(({ amountBani }) => amountBani)).toEqual(wanted);
    const cash = readFiscalMemory(register.stateDir).map((document) => (document.type === 'moneyIn' ? document.amountBani : document.type));
    expect(cash).toEqual(wanted);
  }
});
