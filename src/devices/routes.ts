// HTTP of the devices room: Device/Device/Status of the specification, and pairing, an addition [D3].

import { Type } from 'typebox';
import { callerOf, keyFor, open } from '../http/authentication.ts';
import { exampleTerminal } from '../http/examples.ts';
import { answers, deviceTimeout, keyField, openAnswers, orUnavailable, reportField, textField } from '../http/schemas.ts';
import type { RouteApp } from '../http/server.ts';
import { networkOf } from '../kernel/network-of.ts';
import { deviceKinds } from '../link/protocol.ts';
import type { Devices } from './devices.ts';
import { connectionGuide } from './pairing.ts';
import { answerWithinMs, askStatus, type StatusDeps } from './status.ts';

const exampleDeviceId = 'b4c7b0f6-3f5e-4f0e-9a51-5d2f8e7c1a90';

const statusQuery = Type.Object({
  APIKey: keyField,
  DeviceID: Type.String({ minLength: 1, maxLength: 64, description: 'Terminal or register.', examples: [exampleTerminal] }),
});

const statusReport = reportField('DeviceStatusReport', {
  online: Type.Boolean(),
  battery: Type.Optional(Type.Integer({ description: 'Per cent.' })),
  paper: Type.Optional(Type.String({ description: 'OK when there is paper.' })),
  bank: Type.Optional(Type.String()),
  signal: Type.Optional(Type.Integer({ description: 'Per cent.' })),
});

const pairingBody = Type.Object(
  { code: textField('The code that the cabinet shows. Case, blanks and dashes do not matter.', 64) },
  { examples: [{ code: '7QK2-M9TD' }] },
);

const pairingFields = {
  deviceId: Type.String({ format: 'uuid', description: 'User name and client id on every channel.' }),
  secret: Type.String({ description: 'Password on every channel; shown this once.' }),
  kind: Type.Enum(deviceKinds),
  name: Type.String(),
  bank: Type.String({ description: "Code of the terminal's bank." }),
  mqtt: Type.Object({
    url: Type.String(),
    clientId: Type.String(),
    username: Type.String(),
    topics: Type.Object({ commands: Type.String(), answers: Type.String(), presence: Type.String() }),
  }),
  queue: Type.Object({
    url: Type.String(),
    kind: Type.Enum(['rabbitmq', 'websocket']),
    username: Type.String(),
    commandsQueue: Type.Optional(Type.String()),
    answersExchange: Type.Optional(Type.String()),
    answerKey: Type.Optional(Type.String()),
    presenceKey: Type.Optional(Type.String()),
  }),
};

export interface DeviceRoutesDeps extends StatusDeps {
  devices: Devices;
}

export function registerDeviceRoutes(app: RouteApp, deps: DeviceRoutesDeps): void {
  app.get(
    '/Device/Device/Status',
    {
      config: { access: keyFor('POS', 'Fiscal') },
      schema: {
        tags: ['Terminal status'],
        operationId: 'deviceStatus',
        ...deviceTimeout(answerWithinMs),
        summary: 'Physical state of a terminal or register',
        description:
          'Asks the device itself, for up to 20 seconds, and returns its report unchanged. For an offline device, errorCode 30 has its last report, with "online":false.',
        querystring: statusQuery,
        response: answers(
          {
            name: 'DeviceStatusAnswer',
            description: 'The state of the device is in report.',
            fields: { report: statusReport },
            example: { report: '{"online":true,"battery":80,"paper":"OK","bank":"maib","signal":70}' },
          },
          'Device_Offline',
          'Timeout_or_no_response',
          'Refused_By_Device',
        ),
      },
    },
    async (request) => ({ report: await askStatus(deps, callerOf(request).merchantId, request.query.DeviceID) }),
  );

  registerPairingRoute(app, deps.devices);
}

export function registerPairingRoute(app: RouteApp, devices: Pick<Devices, 'pair'>): void {
  app.post(
    '/pairing',
    {
      config: { access: open },
      schema: {
        tags: ['Devices'],
        operationId: 'pairDevice',
        summary: 'Exchange a pairing code for an id, a secret and addresses',
        description:
          'A code works once and for a quarter of an hour. A wrong, expired or used code is answered 20, always with the same message. In answers and answerKey, {replyTo} stands for the replyTo of the command. HTTP 503 with errorCode 1: the broker did not accept the login; the message says whether the code is still valid.',
        body: pairingBody,
        response: orUnavailable(
          openAnswers(
            {
              description: 'Everything that the device needs to connect.',
              fields: pairingFields,
              example: {
                deviceId: exampleDeviceId,
                secret: 'Zk1vT3V0c2lkZS1pbnNpZGUtc2VjcmV0LWV4YW1wbGU',
                kind: 'terminal',
                name: 'Till 1',
                bank: 'maib',
                ...connectionGuide(exampleDeviceId, {
                  mqttUrl: 'mqtts://pay.example.md:8883',
                  queueUrl: 'amqps://pay.example.md:5671',
                }),
              },
            },
            'Record_not_exist',
          ),
          'Internal_error',
          'Too_Many_Requests',
        ),
      },
    },
    (request) => devices.pair(request.body.code, networkOf(request.ip)),
  );
}
