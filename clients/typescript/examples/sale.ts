// A sale by card, from the till's point of view: charge, close the document, print the receipt.
// TILLGATE_URL, TILLGATE_KEY, TERMINAL and REGISTER come from sandbox.json; run it with node.
import { randomUUID } from 'node:crypto';
import { createTillgate } from 'tillgate-client';

const { TILLGATE_URL: baseUrl = '', TILLGATE_KEY: apiKey = '', TERMINAL: terminal = '', REGISTER: register = '' } = process.env;
const tillgate = createTillgate({ baseUrl, apiKey });
const sale = { id: randomUUID(), total: process.env['AMOUNT'] ?? '70.00' };
const storedKeys: string[] = []; // in real life: a column of the sale

const payment = await tillgate.pay(
  { DeviceID: terminal, amount: sale.total, documentNr: sale.id },
  { onKey: (key) => storedKeys.push(key) },
);
if (payment.outcome !== 'done') {
  console.log(`not paid: ${payment.outcome}, ${payment.errorMessage}`);
  process.exit(payment.outcome === 'unclear' ? 2 : 1);
}
const { operationId, rrn } = payment.report;
console.log(`paid ${payment.report.amount}, rrn ${rrn}`);

const closed = await tillgate.closeDoc({ DeviceID: terminal, documentNr: sale.id, operationId });
console.log(`document ${closed.outcome}`);

const printed = await tillgate.printReceipt({
  DeviceID: register,
  Receipt: {
    Uid: sale.id,
    Number: 'A-1',
    Items: [{ Name: 'Coffee', Quantity: 2, Price: Number(sale.total) / 2 }],
    // By card (1), and paid already by that number: the register prints it and charges nothing.
    Payments: [{ PaymentCode: 1, documentNr: sale.id }],
  },
});
console.log(printed.outcome === 'done' ? `receipt ${printed.report.receiptId}` : `no receipt: ${printed.outcome}, ${printed.errorMessage}`);
