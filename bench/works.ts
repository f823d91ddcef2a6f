// The measured workloads: a till with a terminal, and an ERP with an invoice, as calls over HTTP. The same calls go
// to every contender; an answer that is not a success stops the bench, so that no contender is fast by refusing.
import { randomUUID } from 'node:crypto';
import { cpuMsOf } from '../test/support/process-figures.ts';
import type { Contender } from './contenders.ts';
import { type Answer, type HttpClient, openConnection } from './http-client.ts';
import { type Measured, runLoad, type Timed } from './load.ts';
import type { Round } from './turns.ts';

type Step = (client: HttpClient, lane: number, timed: Timed) => Promise<void>;
export type Work = (contender: Contender, round: Round) => Promise<Measured>;

/**
 * Pay and CloseDoc, each counted as one command; a lane has its own terminals, and alternates between them: a broker reads a hundred
 * packets a second of one device in the long run [D62], which no real terminal needs but three hundred commands a second would exceed.
 */
export const deviceCommands: Work = (contender, round) => {
  const { apiKey: APIKey, deviceIds } = contender;
  const turns = Array.from({ length: round.inFlight }, (_, lane) => lane % deviceIds.length);
  return measure(contender, round, async (client, lane, timed) => {
    const turn = turns[lane] ?? 0;
    turns[lane] = turn + round.inFlight < deviceIds.length ? turn + round.inFlight : lane % deviceIds.length;
    const common = { APIKey, DeviceID: deviceIds[turn], documentNr: randomUUID() };
    const paid = succeeded(await timed(() => client.post('/Device/payment/Pay', { ...common, amount: 150.5 })));
    const { operationId } = JSON.parse(String(paid['report'])) as { operationId: string };
    succeeded(await timed(() => client.post('/Device/payment/CloseDoc', { ...common, operationId })));
  });
};

const receipt = {
  Number: '4127',
  Items: [
    { Name: 'Bread', Quantity: 1, Price: 24.5 },
    { Name: 'Cheese', Quantity: 0.45, Price: 140 },
    { Name: 'Apples', Quantity: 1.5, Price: 18 },
  ],
};

/** Create, Status, Get, Payd: the life of an invoice, without callbacks. */
export const invoiceCalls: Work = (contender, round) =>
  measure(contender, round, async (client, _lane, timed) => {
    const { apiKey: APIKey, deviceIds } = contender;
    const Receipt = { ...receipt, Uid: randomUUID() };
    const created = succeeded(await timed(() => client.post('/Invoice/Create', { APIKey, Receipt })));
    const QR = encodeURIComponent(String(created['QR']));
    succeeded(await timed(() => client.get(`/Invoice/Status?QR=${QR}`)));
    succeeded(await timed(() => client.get(`/Invoice/Get?QR=${QR}`)));
    succeeded(await timed(() => client.get(`/Invoice/Payd?APIKey=${APIKey}&QR=${QR}&ReceiptID=R-1&DeviceID=${deviceIds[0]}`)));
  });

async function measure(contender: Contender, round: Round, step: Step): Promise<Measured> {
  const { baseUrls, pids, databaseMs } = contender;
  const dial = (lane: number) => openConnection(baseUrls[lane % baseUrls.length] ?? '');
  const clients = await Promise.all(Array.from({ length: round.inFlight }, (_, lane) => dial(lane)));
  const cpuMs = () => pids.reduce((sum, pid) => sum + cpuMsOf(pid), 0);
  try {
    return await runLoad({
      ...round,
      cpuMs,
      ...(databaseMs && { databaseMs }),
      step: (lane, timed) => step(clients[lane] as HttpClient, lane, timed),
    });
  } finally {
    for (const client of clients) client.close();
  }
}

export function succeeded({ status, body }: Answer): Record<string, unknown> {
  const answer = JSON.parse(body) as Record<string, unknown>;
  if (answer['errorCode'] !== 0) throw new Error(`A call failed with HTTP ${status}: ${body.slice(0, 300)}`);
  return answer;
}
