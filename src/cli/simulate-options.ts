// The options of `tillgate simulate`, apart from it: the table of commands knows them without loading a virtual device.
export const simulateOptions = {
  kind: 'string',
  pair: 'string',
  url: 'string',
  'state-dir': 'string',
  faults: 'string',
  'slow-ms': 'string',
  'customer-ms': 'string',
  json: 'boolean',
} as const;
