// Devices in the cabinet's API: register, list, dropped messages, rename, disable, enable, new secret, new pairing code.

import { Type } from 'typebox';
import { listDevices, noSuchDevice } from '../../devices/registry.ts';
import { readUuid, textField, uuidField } from '../../http/schemas.ts';
import type { RouteApp } from '../../http/server.ts';
import { actorOf, viewerOf } from '../../http/viewer.ts';
import { invalidRequest } from '../../kernel/error-codes.ts';
import { isoTime } from '../../kernel/moments.ts';
import { deviceKinds } from '../../link/protocol.ts';
import type { DeviceSnapshot } from '../../link/sightings.ts';
import { addRoute } from '../add-route.ts';
import type { CabinetDeps } from '../deps.ts';
import { scopeOfView } from '../list-fields.ts';
import { exampleIds, exampleTime, listOf, merchantQuery, moment } from '../shared-schemas.ts';
import { listedCommand, shownCommand } from '../shown-command.ts';
import { shownRow } from '../shown-row.ts';
import { deviceFacts, readLastOfDevices } from '../views/device-facts.ts';

const kindField = Type.Enum(deviceKinds);

const deviceBody = Type.Object({
  id: Type.Optional(uuidField('Its DeviceID, if it already has one; only operators can name it. Absent: a new one.')),
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

export function registerDeviceAdminRoutes(app: RouteApp, deps: CabinetDeps): void {
  registerDeviceList(app, deps);
  registerDeviceChanges(app, deps);
  registerDroppedMessages(app, deps);
}

function registerDeviceList(app: RouteApp, { database, devices, ledger, link }: CabinetDeps): void {
  addRoute(app, 'POST /devices', 'registerDevice', {
    summary: 'Register a device',
    body: deviceBody,
    answer: {
      description: 'Its id, and the pairing code.',
      fields: { id: uuidField('DeviceID in every call.'), ...pairingFields },
      example: { id: exampleIds.device, ...pairingExample },
    },
    errors: ['Record_not_exist', 'The_status_cannot_be_applied'],
    handle: async (request) => {
      const { merchantId, ...rest } = request.body;
      // A merchant who names it would learn whether another merchant has it, or take it before its owner does [D282].
      if (rest.id !== undefined && viewerOf(request).role !== 'operator') {
        throw invalidRequest('id must be absent: the gateway gives each device a new DeviceID. Only an operator can name one.');
      }
      const fresh = await devices.register(actorOf(request), { ...rest, merchantId: readUuid('merchantId', merchantId) });
      return shownRow(fresh);
    },
  });

  addRoute(app, 'GET /devices', 'listDevices', {
    summary: 'List devices',
    querystring: merchantQuery,
    answer: {
      description: 'Devices, oldest first, with the channels on which they are connected to this instance, and the banks to choose from.',
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
          waitingForOther: Type.Optional(
            Type.Integer({
              description: 'The connected hardware is another one: so many decisions wait for the hardware that got their commands.',
            }),
          ),
          releasedIfLost: Type.Optional(
            Type.Integer({
              description:
                'So many decisions wait for hardware that can be declared lost: other hardware than the connected one, or any if none is connected.',
            }),
          ),
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
    },
    handle: async (request) => {
      const scope = scopeOfView(request, request.query.merchantId);
      const listed = await listDevices(database.pages, scope.merchantId);
      const lasts = await readLastOfDevices(database.pages, scope);
      const waiting = await ledger.waitingDecisions();
      return {
        devices: listed.map((device) => {
          const snapshot = link.presence.of(device.id);
          const { last, report = {} } = lasts.get(device.id) ?? {};
          const { channels, dropped, ...facts } = deviceFacts(snapshot, report, link.droppedOf(device.id));
          return {
            ...shownRow(device),
            liveOn: snapshot?.liveOn ?? [],
            ...facts,
            ...countsOfOther(waiting, device.id, snapshot),
            dropped: dropped.map(shownRow),
            channels: channels.map(({ sinceMs, ...channel }) => ({ ...channel, since: isoTime(sinceMs) })),
            lastCommand: last && shownCommand(last),
            lastSeenAt: isoTime(snapshot?.lastSeenAtMs || device.lastSeenAtMs),
          };
        }),
        banks: devices.banks,
      };
    },
  });
}

/** Decisions that wait for other hardware than the one that is connected as this device [D304]; absent: none. */
function countsOfOther(
  waiting: readonly { deviceId: string; journalId: string | null }[],
  deviceId: string,
  snapshot: DeviceSnapshot | undefined,
): { waitingForOther?: number; releasedIfLost?: number } {
  const isConnected = snapshot !== undefined && snapshot.liveOn.length > 0;
  const ofDevice = waiting.filter((one) => one.deviceId === deviceId);
  const { length } = isConnected ? ofDevice.filter((one) => one.journalId !== (snapshot.journalId ?? null)) : ofDevice;
  if (length === 0) return {};
  return isConnected ? { waitingForOther: length, releasedIfLost: length } : { releasedIfLost: length };
}

function registerDeviceChanges(app: RouteApp, { devices, ledger, link, database }: CabinetDeps): void {
  addRoute(app, 'POST /devices/:id/rename', 'renameDevice', {
    summary: 'Rename a device',
    body: nameBody,
    answer: 'The device is renamed.',
    errors: ['Record_not_exist'],
    handle: (request) => devices.rename(actorOf(request), request.params.id, request.body.name),
  });

  addRoute(app, 'POST /devices/:id/disable', 'disableDevice', {
    summary: 'Disable a device',
    description: 'It is disconnected at once and can neither log in nor pair. Calls to it are answered 30, like an unknown device.',
    answer: 'The device is disabled.',
    errors: ['Record_not_exist'],
    handle: (request) => devices.disable(actorOf(request), request.params.id),
  });

  addRoute(app, 'POST /devices/:id/hardware-lost', 'declareHardwareLost', {
    summary: 'Declare the earlier hardware of a device lost',
    description:
      'After a decision “not done”, the same is sent to this device only when the hardware that got the first attempt has confirmed the decision. If that hardware never comes back, this ends the wait for it. Hardware that is connected now is not meant; if none is connected, also right after a start of the gateway, the wait for all hardware ends. 22: no decision waits.',
    body: Type.Object({ reason: textField('Reason; stored in the audit log.', 500) }),
    answer: {
      description: 'How many decisions waited for it.',
      fields: {
        released: Type.Integer(),
        isConnected: Type.Boolean({
          description: 'False: no hardware was connected, so the wait for that which was connected last has ended, too.',
        }),
        lastSeenAt: Type.Optional(moment),
      },
      example: { released: 1, isConnected: true, lastSeenAt: exampleTime },
    },
    errors: ['Record_not_exist', 'The_status_cannot_be_applied'],
    handle: async (request) => {
      const { id: deviceId } = request.params;
      const { reason } = request.body;
      const actor = actorOf(request);
      const { merchantId, storedAtMs } = await database.queries
        .selectFrom('devices')
        .select(['merchant_id as merchantId', 'last_seen_at as storedAtMs'])
        .where('id', '=', deviceId)
        .executeTakeFirstOrThrow(noSuchDevice);
      const audit = { actor, action: 'device.hardware-lost', subject: deviceId, merchantId, detail: { reason } };
      const lastSeenAtMs = link.presence.of(deviceId)?.lastSeenAtMs || storedAtMs;
      const declared = await ledger.declareLost({ deviceId, actor, reason }, audit);
      return { ...declared, lastSeenAt: isoTime(lastSeenAtMs) };
    },
  });

  addRoute(app, 'POST /devices/:id/enable', 'enableDevice', {
    summary: 'Enable a device',
    answer: 'The device may log in again with its secret.',
    errors: ['Record_not_exist'],
    handle: (request) => devices.enable(actorOf(request), request.params.id),
  });

  addRoute(app, 'POST /devices/:id/secret', 'replaceDeviceSecret', {
    summary: 'Give a device a new secret',
    description: 'The old secret and an open pairing code become invalid; a connection with the old secret is closed.',
    answer: {
      description: 'The new secret, shown only once.',
      fields: { secret: Type.String() },
      example: { secret: 'Zk1vT3V0c2lkZS1pbnNpZGUtc2VjcmV0LWV4YW1wbGU' },
    },
    errors: ['Record_not_exist'],
    handle: (request) => devices.newSecret(actorOf(request), request.params.id),
  });

  addRoute(app, 'POST /devices/:id/pairing', 'issuePairingCode', {
    summary: 'Show a new pairing code',
    description: 'An older code becomes invalid. The current secret stays valid until the new code is used.',
    answer: { description: 'The code, shown only once.', fields: pairingFields, example: pairingExample },
    errors: ['Record_not_exist', 'The_status_cannot_be_applied'],
    handle: async (request) => shownRow(await devices.newPairingCode(actorOf(request), request.params.id)),
  });
}

/** For the developer of its firmware. Only since the start of this instance; the content of messages is neither stored nor shown. */
function registerDroppedMessages(app: RouteApp, { database, link }: CabinetDeps): void {
  addRoute(app, 'GET /devices/:id/messages', 'listDeviceMessages', {
    summary: 'Dropped messages of a device',
    description:
      'Messages of one kind (channel, reason, field) are one row with their number; newest first, at most 30. Received by this instance since its start.',
    answer: {
      description: 'Dropped messages by kind, with the reason.',
      fields: {
        dropped: listOf({
          channel: Type.Enum(['mqtt', 'queue']),
          reason: Type.String({ description: 'Kind of error.' }),
          field: Type.Optional(Type.String({ description: 'The wrong part of the message, its address or its properties.' })),
          why: Type.String({ description: 'A sentence for people.' }),
          count: Type.Integer(),
          firstAt: moment,
          lastAt: moment,
        }),
      },
      example: {
        dropped: [
          {
            channel: 'mqtt',
            reason: 'field',
            field: 'clock',
            why: 'must be an ISO 8601 time with a zone',
            count: 3,
            firstAt: exampleTime,
            lastAt: exampleTime,
          },
        ],
      },
    },
    errors: ['Record_not_exist'],
    handle: async (request) => {
      const { id } = request.params;
      const device = await database.pages.selectFrom('devices').select('id').where('id', '=', id).executeTakeFirst();
      if (!device) throw noSuchDevice();
      return {
        dropped: link.dropNotesOf(id).map(shownRow),
      };
    },
  });
}
