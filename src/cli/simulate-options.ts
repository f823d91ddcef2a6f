// The options of `tillgate simulate`, in their own file: the table of commands needs them without loading a virtual device.
import type { Options } from './options.ts';

export const simulateOptions = {
  kind: ['string', 'terminal or register'],
  pair: [
    'string',
    'pairing code from the cabinet or `tillgate device create`; needed once. Without one, a new device is\nregistered with the sandbox that runs in TILLGATE_DATA_DIR',
  ],
  url: [
    'string',
    'base URL of the gateway (without --pair the sandbox in TILLGATE_DATA_DIR; otherwise the address in the settings, or\nhttp://127.0.0.1:8080/tillgate)',
  ],
  'state-dir': [
    'string',
    'where the device keeps its journal, bank and fiscal memory, and pictures of what it printed in paper/\n(TILLGATE_DATA_DIR/simulate/KIND); one process at a time',
  ],
  faults: ['string', 'JSON file: faults to set, or a script [{"afterMs":5000,"set":{"mqtt":false}}, ...]; see below'],
  'slow-ms': ['string', 'duration of the slow magic amount (20000)'],
  'customer-ms': ['string', 'time that the customer takes for card and PIN (150)'],
  json: ['boolean', 'print the outcome of a scan as JSON'],
} as const satisfies Options;
