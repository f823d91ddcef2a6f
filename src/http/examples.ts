// The fictitious key, devices and ERP in the examples of the API document. The reference page of a sandbox replaces them by its own,
// so that "Try it out" works without editing.

export const exampleApiKey = '7f3d2c1b-0a9e-4d5c-8b7a-6f5e4d3c2b1a';
export const exampleTerminal = '0b1c2d3e-4f50-4617-a283-94a5b6c7d8e9';
export const exampleRegister = '5e8f1a2b-3c4d-4e5f-9a6b-7c8d9e0f1a2b';
export const exampleErp = 'https://erp.example';

/** The address of `tillgate sink` in the sandbox's tour. */
const sink = 'http://127.0.0.1:9000';

/** The sandbox's own key and devices. */
export interface Demo {
  apiKey?: string | undefined;
  devices?: readonly { id: string; kind: 'terminal' | 'register' }[] | undefined;
}

const note = [
  '**This is a sandbox.** Its key and its devices are filled in: open a call, press "Try it out" and "Execute".',
  "No real money moves. The same Pay executed again gets the answer of the first: nothing is charged twice. Callbacks go to `tillgate sink --port 9000`. The header `Tillgate-Fault` (declined, lost-answer and more: docs/device-protocol.md, *Magic amounts*) makes the device fail. Values from an earlier call (`QR`, `operationId`) are in that call's answer.",
].join(' ');

/** The document as text; in a sandbox with its own key and devices in the examples. */
export function withDemo(document: object, { apiKey, devices = [] }: Demo): string {
  if (apiKey === undefined) return JSON.stringify(document);
  const { info, ...rest } = document as { info?: { description?: string } };
  const described = { ...info, description: `${note}\n\n${info?.description ?? ''}`, 'x-sandbox-key': apiKey };
  const idOf = (kind: 'terminal' | 'register') => devices.find((device) => device.kind === kind)?.id;
  return JSON.stringify({ ...rest, info: described })
    .replaceAll(exampleApiKey, apiKey)
    .replaceAll(exampleTerminal, idOf('terminal') ?? exampleTerminal)
    .replaceAll(exampleRegister, idOf('register') ?? exampleRegister)
    .replaceAll(exampleErp, sink);
}
