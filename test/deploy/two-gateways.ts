// Two gateways behind a real nginx, on one PostgreSQL and one RabbitMQ that asks about devices through that nginx, all configured by the
// files in deploy/; and what a shop does with them: sales, invoices and logins of devices that go on whatever happens to a gateway.
import { randomUUID } from 'node:crypto';
import { connectAsync } from 'mqtt';
import { type Login, mqttOptions } from '../contract/test-device.ts';
import { freePort } from '../support/free-port.ts';
import { type GatewayProcess, patienceMs, serveSettings, startServeProcess } from '../support/gateway-process.ts';
import { openShop, type Shop, type ShopDevice } from '../support/served-shop.ts';
import { type NginxServer, startNginx } from '../support/servers/nginx.ts';
import { type PostgresServer, startPostgres } from '../support/servers/postgres.ts';
import { type ShippedRabbitmq, startShippedRabbitmq } from '../support/servers/shipped-rabbitmq.ts';
import { type Answer, createTill, eventually, type Till } from '../support/till.ts';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const brokerToken = 'the-token-of-the-test-broker';

export interface TwoGateways {
  postgres: PostgresServer;
  rabbitmq: ShippedRabbitmq;
  shop: Shop;
  /** Every call goes through nginx. */
  till: Till;
  gateways: [GatewayProcess, GatewayProcess];
  /** Starts it again on its old port; resolves when it is ready. */
  restart(index: 0 | 1): Promise<void>;
  stop(): Promise<void>;
}

export async function startTwoGateways(): Promise<TwoGateways> {
  const ports = [await freePort(), await freePort()];
  const nginx: NginxServer = await startNginx(ports);
  const [postgres, rabbitmq] = await Promise.all([startPostgres(), startShippedRabbitmq(nginx.authPort, brokerToken)]);
  const [first, second] = await Promise.all(
    ports.map((port) =>
      serveSettings({
        TILLGATE_PORT: String(port),
        TILLGATE_DATABASE_URL: postgres.url,
        TILLGATE_MQTT_URL: rabbitmq.mqttUrl,
        TILLGATE_QUEUE_URL: rabbitmq.url,
        TILLGATE_BROKER_TOKEN: brokerToken,
        TILLGATE_RATE_LIMIT: '100000',
        TILLGATE_DRAIN_S: '3',
      }),
    ),
  );
  const settings = [first ?? {}, second ?? {}];
  const shop = await openShop(settings[0] ?? {});
  const other = await startServeProcess(settings[1] ?? {});
  const { key } = await shop.till.admin('/keys', { merchantId: shop.merchantId, name: 'Proxy', modules: ['POS', 'QR', 'Fiscal'] });
  const till = createTill({ baseUrl: nginx.url, adminToken: shop.gateway.adminToken, apiKey: String(key) });
  const world: TwoGateways = {
    postgres,
    rabbitmq,
    shop,
    till,
    gateways: [shop.gateway, other],
    async restart(index) {
      const gateway = await startServeProcess(settings[index] ?? {});
      world.gateways[index] = gateway;
      if (index === 0) shop.gateway = gateway;
      await eventually(
        'it is ready',
        async () => (await fetch(`${gateway.baseUrl}/health/ready`)).status,
        (status) => status === 200,
      );
    },
    async stop() {
      await shop.close();
      await world.gateways[1].kill9();
      await nginx.stop();
      await Promise.all([postgres.stop(), rabbitmq.stop()]);
    },
  };
  return world;
}

const receipt = () => ({ Uid: randomUUID(), Items: [{ Name: 'Bread', Quantity: 1, Price: 12.5 }], Payments: [{ PaymentCode: 1 }] });

export interface Load {
  /** Ends it; `answered` counts what was answered 0, `others` has every other answer, and what was none. */
  end(): Promise<{ answered: number; others: string[] }>;
  answered(): number;
}

/** Invoices are made and asked for, by several tills at once, without pause. */
export function invoicesWithoutPause(till: Till, tills: number): Load {
  const others: string[] = [];
  let answered = 0;
  let isOver = false;
  const note = async (answer: Answer | undefined, error?: unknown) => {
    if (answer?.errorCode === 0) answered += 1;
    else {
      others.push(answer ? JSON.stringify(answer) : String(error));
      await pause(100);
    }
  };
  async function sell(): Promise<void> {
    while (!isOver) {
      const created = await till.post('/Invoice/Create', { Receipt: receipt() }).catch(String);
      if (typeof created === 'string') {
        await note(undefined, created);
        continue;
      }
      await note(created);
      for (let count = 0; count < 3 && created.errorCode === 0; count += 1) {
        await till.get('/Invoice/Status', { QR: String(created['QR']) }).then(note, (error: unknown) => note(undefined, error));
      }
    }
  }
  const running = Array.from({ length: tills }, sell);
  return {
    answered: () => answered,
    async end() {
      isOver = true;
      await Promise.all(running);
      return { answered, others };
    },
  };
}

export interface Payments {
  /** Resolves when the last payment is closed, with the documents that were paid and every answer that was none. */
  end(): Promise<{ paid: string[]; withoutEnvelope: string[] }>;
}

/** Pay and CloseDoc on each terminal without pause; what is not certain is asked for again by the same documentNr, as an ERP would. */
export function paymentsWithoutPause(till: Till, terminals: ShopDevice[]): Payments {
  const paid: string[] = [];
  const withoutEnvelope: string[] = [];
  let isOver = false;
  async function insist(path: string, body: object): Promise<Answer> {
    const endsAt = performance.now() + 2 * patienceMs;
    for (;;) {
      const answer = await till.post(path, body).catch(String);
      if (typeof answer === 'string') withoutEnvelope.push(answer);
      else if (answer.errorCode === 0) return answer;
      if (performance.now() > endsAt) throw new Error(`${path} has no outcome: ${JSON.stringify(answer)}`);
      await pause(100);
    }
  }
  async function sell({ id: DeviceID }: ShopDevice): Promise<void> {
    while (!isOver) {
      const documentNr = randomUUID();
      const { report } = await insist('/Device/payment/Pay', { DeviceID, amount: '12.50', documentNr });
      paid.push(documentNr);
      const { operationId } = JSON.parse(report ?? '{}') as { operationId: string };
      await insist('/Device/payment/CloseDoc', { DeviceID, documentNr, operationId });
    }
  }
  const running = terminals.map(sell);
  // Told when it is ended.
  for (const one of running) one.catch(() => {});
  return {
    async end() {
      isOver = true;
      await Promise.all(running);
      return { paid, withoutEnvelope };
    },
  };
}

export interface Logins {
  /** How many were let in, and the longest time in milliseconds during which none was. */
  end(): Promise<{ letIn: number; longestRefusedMs: number }>;
}

/** Devices that nobody has seen before, so that RabbitMQ must ask, come one after the other over MQTT. */
export async function loginsWithoutPause(shop: Shop, mqttUrl: string, count: number): Promise<Logins> {
  const devices: Login[] = [];
  for (let index = 0; index < count; index += 1) {
    const { pairingCode } = await shop.till.admin('/devices', { merchantId: shop.merchantId, kind: 'register', name: `Login ${index}` });
    const { deviceId, secret } = await shop.till.post('/pairing', { code: pairingCode });
    devices.push({ deviceId: String(deviceId), secret: String(secret) });
  }
  const address = new URL(mqttUrl);
  address.username = '';
  address.password = '';
  let isOver = false;
  let letIn = 0;
  let lastLetInAt = performance.now();
  let longestRefusedMs = 0;
  async function come(): Promise<void> {
    for (let index = 0; !isOver; index += 1) {
      const device = devices[index % devices.length];
      if (device === undefined) return;
      const connected = await connectAsync(address.href, { ...mqttOptions(device), connectTimeout: 4_000 }, false).catch(() => undefined);
      if (connected) {
        letIn += 1;
        longestRefusedMs = Math.max(longestRefusedMs, performance.now() - lastLetInAt);
        lastLetInAt = performance.now();
        await connected.endAsync();
      }
      await pause(50);
    }
  }
  const running = come();
  return {
    async end() {
      isOver = true;
      await running;
      return { letIn, longestRefusedMs: Math.max(longestRefusedMs, performance.now() - lastLetInAt) };
    },
  };
}
