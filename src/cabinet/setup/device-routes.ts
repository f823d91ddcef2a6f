// Devices in the cabinet's API: register, list, rename, disable, enable, new secret, new pairing code.

import type { Database } from '../../database/database.ts';
import type { Devices } from '../../devices/devices.ts';
import { adminAnswers, readUuid, textField, uuidField } from '../../http/schemas.ts';
import type { RouteApp } from '../../http/server.ts';
import { actorOf } from '../../http/viewer.ts';
import { isoTime } from '../../kernel/moments.ts';
import { Type } from '../../kernel/schema-type.ts';
import type { Link } from '../../link/link.ts';
import { deviceKinds } from '../../link/protocol.ts';
import { scopeOfView } from '../list-fields.ts';
import { configOf } from '../roles.ts';
import { apiPath, exampleIds, exampleTime, idParams, listOf, merchantQuery, moment, tags } from '../shared-schemas.ts';
import { listedCommand, shownCommand } from '../shown-command.ts';
import { deviceFacts, readLastOfDevices } from '../views/device-facts.ts';

export interface DeviceAdminDeps {
  devices: Devices;
  database: Database;
  link: Pick<Link, 'presence' | 'droppedOf'>;
}

const kindField = Type.Enum(deviceKinds);

const deviceBody = Type.Object({
  id: Type.Optional(uuidField('Its DeviceID, if it already has one; absent: a new one.')),
  merchantId: uuidField('Owner of the device.'),
  kind: kindField,
  name: textField('Name of the device.', 200),
  bank: Type.Optional(textField('Code of a configured bank; terminals only.', 32)),
  pointOfSalesCode: Type.Optional(textField('Point-of-sale code.', 100)),
});

const nameBody = Type.Object({ name: textField('The new name.', 200) });

const pairingFields = {
  pairingCode: Type.String({ description: 'Entered or scanned at the device; works once.' }),
  pairingExpiresAt: moment,
};
const pairingExample = { pairingCode: '7QK2-M9TD', pairingExpiresAt: exampleTime };

export function registerDeviceAdminRoutes(app: RouteApp, deps: DeviceAdminDeps): void {
  registerDeviceList(app, deps);
  registerDeviceChanges(app, deps.devices);
}

function registerDeviceList(app: RouteApp, { database, devices, link }: DeviceAdminDeps): void {
  app.post(
    `${apiPath}/devices`,
    {
      config: configOf('registerDevice'),
      schema: {
        tags,
        operationId: 'registerDevice',
        summary: 'Register a device',
        body: deviceBody,
        response: adminAnswers(
          {
            description: 'Its id, and the pairing code.',
            fields: { id: uuidField('DeviceID in every call.'), ...pairingFields },
            example: { id: exampleIds.device, ...pairingExample },
          },
          'Record_not_exist',
          'The_status_cannot_be_applied',
        ),
      },
    },
    async (request) => {
      const { merchantId, ...rest } = request.body;
      const fresh = await devices.register(actorOf(request), { ...rest, merchantId: readUuid('merchantId', merchantId) });
      return { id: fresh.id, pairingCode: fresh.pairingCode, pairingExpiresAt: isoTime(fresh.pairingExpiresAtMs) };
    },
  );

  app.get(
    `${apiPath}/devices`,
    {
      config: configOf('listDevices'),
      schema: {
        tags,
        operationId: 'listDevices',
        summary: 'List devices',
        querystring: merchantQuery,
        response: adminAnswers({
          description:
            'Devices, oldest first, with the channels on which they are connected to this instance, and the banks to choose from.',
          fields: {
            devices: listOf({
              id: Type.String(),
              merchantId: Type.String(),
              kind: kindField,
              name: Type.String(),
              bank: Type.Optional(Type.String()),
              pointOfSalesCode: Type.Optional(Type.String()),
              state: Type.Enum(['new', 'paired', 'disabled']),
              hasJournal: Type.Boolean(),
              liveOn: Type.Array(Type.Enum(['mqtt', 'queue'])),
              channels: listOf({ name: Type.Enum(['mqtt', 'queue']), isLive: Type.Boolean(), since: Type.Optional(moment) }),
              battery: Type.Optional(Type.Number()),
              paper: Type.Optional(Type.String()),
              signal: Type.Optional(Type.Number()),
              firmware: Type.Optional(Type.String()),
              clockOffsetMs: Type.Optional(Type.Integer()),
              lastCommand: Type.Optional(listedCommand),
              dropped: listOf({ reason: Type.String(), count: Type.Integer(), lastAt: moment }),
              createdAt: moment,
              lastSeenAt: Type.Optional(moment),
              pairingExpiresAt: Type.Optional(moment),
            }),
            banks: listOf({ code: Type.String(), name: Type.String() }),
          },
          example: {
            devices: [
              {
                id: exampleIds.device,
                merchantId: exampleIds.merchant,
                kind: 'terminal',
                name: 'Till 1',
                bank: 'maib',
                state: 'paired',
                hasJournal: true,
                liveOn: ['mqtt'],
                channels: [{ name: 'mqtt', isLive: true, since: exampleTime }],
                dropped: [],
                createdAt: exampleTime,
                lastSeenAt: exampleTime,
              },
            ],
            banks: [{ code: 'maib', name: 'maib' }],
          },
        }),
      },
    },
    async (request) => {
      const scope = scopeOfView(request, request.query.merchantId);
      const listed = await devices.list(scope.merchantId);
      const lasts = await readLastOfDevices(database.queries, scope);
      return {
        devices: listed.map(({ createdAtMs, lastSeenAtMs, pairingExpiresAtMs, ...device }) => {
          const snapshot = link.presence.of(device.id);
          const { last, report = {} } = lasts.get(device.id) ?? {};
          const { channels, dropped, ...facts } = deviceFacts(snapshot, report, link.droppedOf(device.id));
          return {
            ...device,
            liveOn: snapshot?.liveOn ?? [],
            ...facts,
            dropped: dropped.map(({ lastAtMs, ...drop }) => ({ ...drop, lastAt: isoTime(lastAtMs) })),
            channels: channels.map(({ sinceMs, ...channel }) => ({ ...channel, since: isoTime(sinceMs) })),
            lastCommand: last && shownCommand(last),
            createdAt: isoTime(createdAtMs),
            lastSeenAt: isoTime(snapshot?.lastSeenAtMs || lastSeenAtMs),
            pairingExpiresAt: isoTime(pairingExpiresAtMs),
          };
        }),
        banks: devices.banks,
      };
    },
  );
}

function registerDeviceChanges(app: RouteApp, devices: Devices): void {
  const idOf = (request: { params: { id: string } }) => request.params.id.toLowerCase();
  const done = (description: string) => adminAnswers({ description, example: {} }, 'Record_not_exist');

  app.post(
    `${apiPath}/devices/:id/rename`,
    {
      config: configOf('renameDevice'),
      schema: {
        tags,
        operationId: 'renameDevice',
        summary: 'Rename a device',
        params: idParams,
        body: nameBody,
        response: done('The device is renamed.'),
      },
    },
    async (request) => {
      await devices.rename(actorOf(request), idOf(request), request.body.name);
      return {};
    },
  );

  app.post(
    `${apiPath}/devices/:id/disable`,
    {
      config: configOf('disableDevice'),
      schema: {
        tags,
        operationId: 'disableDevice',
        summary: 'Disable a device',
        description: 'It is disconnected at once and can neither log in nor pair. Calls to it are answered 30, like an unknown device.',
        params: idParams,
        response: done('The device is disabled.'),
      },
    },
    async (request) => {
      await devices.disable(actorOf(request), idOf(request));
      return {};
    },
  );

  app.post(
    `${apiPath}/devices/:id/enable`,
    {
      config: configOf('enableDevice'),
      schema: {
        tags,
        operationId: 'enableDevice',
        summary: 'Enable a device',
        params: idParams,
        response: done('The device may log in again with its secret.'),
      },
    },
    async (request) => {
      await devices.enable(actorOf(request), idOf(request));
      return {};
    },
  );

  app.post(
    `${apiPath}/devices/:id/secret`,
    {
      config: configOf('replaceDeviceSecret'),
      schema: {
        tags,
        operationId: 'replaceDeviceSecret',
        summary: 'Give a device a new secret',
        description: 'The old secret and an open pairing code become invalid; a connection with the old secret is closed.',
        params: idParams,
        response: adminAnswers(
          {
            description: 'The new secret, shown only once.',
            fields: { secret: Type.String() },
            example: { secret: 'Zk1vT3V0c2lkZS1pbnNpZGUtc2VjcmV0LWV4YW1wbGU' },
          },
          'Record_not_exist',
        ),
      },
    },
    (request) => devices.newSecret(actorOf(request), idOf(request)),
  );

  app.post(
    `${apiPath}/devices/:id/pairing`,
    {
      config: configOf('issuePairingCode'),
      schema: {
        tags,
        operationId: 'issuePairingCode',
        summary: 'Show a new pairing code',
        description: 'An older code becomes invalid. The current secret stays valid until the new code is used.',
        params: idParams,
        response: adminAnswers(
          { description: 'The code, shown only once.', fields: pairingFields, example: pairingExample },
          'Record_not_exist',
          'The_status_cannot_be_applied',
        ),
      },
    },
    async (request) => {
      const { pairingCode, pairingExpiresAtMs } = await devices.newPairingCode(actorOf(request), idOf(request));
      return { pairingCode, pairingExpiresAt: isoTime(pairingExpiresAtMs) };
    },
  );
}
