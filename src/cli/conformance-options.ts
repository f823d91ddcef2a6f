// The options of `tillgate conformance`, in their own file: the table of commands needs them without loading brokers.
import type { Options } from './options.ts';

export const conformanceOptions = {
  kind: ['string', 'terminal or register (terminal)'],
  pair: ['string', 'the code that the device will send; without it one is generated'],
  host: ['string', 'address to listen on, which the device gets (127.0.0.1); for a device on another machine --yes is needed'],
  port: ['string', 'port for pairing and the built-in queue (8090)'],
  'mqtt-port': ['string', 'port for MQTT (1890)'],
  'mqtt-url': ['string', 'a broker of your own instead, with the login of a gateway: mqtt://user:password@host'],
  'queue-url': ['string', 'a RabbitMQ of your own instead: amqp://user:password@host; the device needs its login there'],
  'device-id': ['string', 'with --secret: login of the device, from an earlier run or at your broker; then it need not pair'],
  secret: ['string', 'its secret'],
  amount: ['string', 'lei of each payment (1.00)'],
  'reboot-command': ['string', 'cuts the power of the device and restarts it; without it you are asked to do so'],
  'no-reboot': ['boolean', 'skips checks that need a restart'],
  'wait-s': ['string', 'how long to wait for the device to connect (600)'],
  html: ['string', 'writes the report as a page'],
  json: ['boolean', 'prints the report as one line of JSON; the progress goes to standard error'],
  yes: ['boolean', 'allows the announced charges on a device that is not on this machine'],
} as const satisfies Options;
