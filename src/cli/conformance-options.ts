// The options of `tillgate conformance`, in their own file: the table of commands needs them without loading brokers.
export const conformanceOptions = {
  kind: 'string',
  pair: 'string',
  host: 'string',
  port: 'string',
  'mqtt-port': 'string',
  'mqtt-url': 'string',
  'queue-url': 'string',
  'device-id': 'string',
  secret: 'string',
  amount: 'string',
  'reboot-command': 'string',
  'no-reboot': 'boolean',
  'wait-s': 'string',
  html: 'string',
  json: 'boolean',
  yes: 'boolean',
} as const;
