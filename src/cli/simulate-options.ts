// The options of `tillgate simulate`, in their own file: the table of commands needs them without loading a virtual device.
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
