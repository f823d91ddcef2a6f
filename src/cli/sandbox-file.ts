// sandbox.json, with which programs find a running sandbox, and the tour that it prints for people.
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

export interface SandboxFile {
  baseUrl: string;
  apiKey: string;
  merchantId: string;
  /** Signs callbacks; after a rotation the next start writes the new secret. */
  callbackSecret: string;
  adminToken: string;
  mqttUrl: string;
  queueUrl: string;
  /** A register has no bank. */
  devices: { id: string; kind: 'terminal' | 'register'; name: string; bank: string | null; secret: string }[];
}

/** The file of an earlier start; an unreadable file counts as absent. */
export function readSandboxFile(path: string): SandboxFile | undefined {
  if (!existsSync(path)) return undefined;
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as SandboxFile;
  } catch {
    return undefined;
  }
}

/** Atomic: no reader sees a partial file. */
export function writeSandboxFile(path: string, file: SandboxFile): void {
  const draft = `${path}.new`;
  rmSync(draft, { force: true });
  writeFileSync(draft, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, path);
}

/** The command of this program: npm in a clone, its name where the package is installed. */
const tillgate = import.meta.url.endsWith('.ts') ? 'npm run -s tillgate --' : 'tillgate';

/** The tour: addresses, the key, and commands to paste. */
export function describeSandbox({ file, path }: { file: SandboxFile; path: string }): string {
  const { baseUrl, apiKey, callbackSecret, adminToken, devices, mqttUrl, queueUrl } = file;
  const create = {
    APIKey: apiKey,
    CallbackURI: 'http://127.0.0.1:9000/paid?oid=#OID#&state=#State#&receipt=#ReceiptID#',
    Receipt: { Number: 'A-1', Items: [{ Name: 'Coffee', Quantity: 2, Price: 35 }] },
  };
  const terminal = devices.find((device) => device.kind === 'terminal');
  const pay = { APIKey: apiKey, DeviceID: terminal?.id, amount: 150.5 };
  const json = "-H 'Content-Type: application/json'";
  return [
    'Tillgate sandbox: a test environment. It moves no real money; do not use it in a shop.',
    '',
    `  Cabinet        ${baseUrl}/cabinet   (open it in a browser)`,
    `  Base URL       ${baseUrl}`,
    `  API key        ${apiKey}   (opens POS, QR and Fiscal)`,
    `  Signing secret ${callbackSecret}   (of the callbacks; \`tillgate sink\` checks by it)`,
    `  API reference  ${baseUrl}/docs`,
    `  Admin token    ${adminToken}`,
    `  Devices        ${mqttUrl} and ${queueUrl}`,
    ...devices.map((device) => `                 ${device.id}  ${device.kind.padEnd(8)}  ${device.name}`),
    `  All of this    ${path}`,
    '',
    'Create an invoice:',
    `  curl -s ${baseUrl}/Invoice/Create ${json} -d '${JSON.stringify(create)}'`,
    'Pay by card (an amount ending in .61 is declined, in .66 loses the answer; `tillgate simulate --help` lists them all):',
    `  curl -s ${baseUrl}/Device/payment/Pay ${json} -d '${JSON.stringify(pay)}'`,
    'Watch callbacks arrive (in another terminal):',
    `  ${tillgate} sink --port 9000`,
    '',
    'Stop with Ctrl-C.',
  ].join('\n');
}
