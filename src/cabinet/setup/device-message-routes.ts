// Dropped messages of a device, for the developer of its firmware: channel, field and error.
// Only messages that this instance received since its start. Their content is neither stored nor shown.

import { Type } from 'typebox';
import { noSuchDevice } from '../../devices/registry.ts';
import type { RouteApp } from '../../http/server.ts';
import { addRoute } from '../add-route.ts';
import type { CabinetDeps } from '../deps.ts';
import { exampleTime, listOf, moment } from '../shared-schemas.ts';
import { shownRow } from '../shown-row.ts';

export function registerDeviceMessageRoutes(app: RouteApp, { database, link }: CabinetDeps): void {
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
      const device = await database.queries.selectFrom('devices').select('id').where('id', '=', id).executeTakeFirst();
      if (!device) throw noSuchDevice();
      return {
        dropped: link.dropNotesOf(id).map(shownRow),
      };
    },
  });
}
