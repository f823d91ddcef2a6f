// The gateways on this database, from their heartbeats: version, start, clock difference and load.

import { Type } from 'typebox';
import type { Database } from '../../database/database.ts';
import { listInstances } from '../../database/instances.ts';
import type { RouteApp } from '../../http/server.ts';
import { isoTime } from '../../kernel/moments.ts';
import { addRoute } from '../add-route.ts';
import { exampleTime, listOf, moment } from '../shared-schemas.ts';

const count = (description: string) => Type.Integer({ description });

const statusSchema = Type.Object(
  {
    http: count('Open HTTP connections of ERPs, proxies and browsers.'),
    devices: count('Devices that are live on any channel.'),
    channels: Type.Record(Type.String(), Type.Boolean(), { description: 'Whether each channel to the devices is connected.' }),
    database: Type.Object(
      {
        busy: count('In use.'),
        idle: count('Open and idle.'),
        waiting: count('Statements that wait for a connection.'),
      },
      { description: 'Connections to the database.' },
    ),
    waitingCalls: count('Calls that wait for a device.'),
    commands: count('Commands in progress on this instance.'),
    callbacks: count('Callbacks that this instance is sending.'),
  },
  { description: 'Connections and queues at the last heartbeat.' },
);

export function registerInstanceRoutes(app: RouteApp, { database }: { database: Database }): void {
  addRoute(app, 'GET /instances', 'listInstances', {
    summary: 'The gateways on this database',
    description:
      'Running instances, and those lost in the last 24 hours; at most 100. An instance writes its state every 5 s and counts as lost after 15 s without a heartbeat.',
    answer: {
      description: 'The instances.',
      fields: {
        instances: listOf({
          id: Type.String({ description: 'Id of this process; it changes at a restart.' }),
          state: Type.Enum(['running', 'lost']),
          version: Type.String({ description: 'Of Tillgate.' }),
          host: Type.String(),
          pid: Type.Integer(),
          embedded: Type.String({ description: 'Parts that run inside this process; empty: none.' }),
          startedAt: moment,
          seenAt: moment,
          clockOffsetMs: Type.Optional(
            Type.Integer({ description: "Its clock minus the database's, in milliseconds; includes network latency." }),
          ),
          status: Type.Optional(statusSchema),
        }),
      },
      example: {
        instances: [
          {
            id: '7b1c1f0a-4c7e-4a53-9a77-1f0f8c0d7e55',
            state: 'running',
            version: '0.2.3',
            host: 'till-1',
            pid: 812,
            embedded: '',
            startedAt: exampleTime,
            seenAt: exampleTime,
            clockOffsetMs: -3,
            status: {
              http: 12,
              devices: 40,
              channels: { mqtt: true, queue: true },
              database: { busy: 1, idle: 9, waiting: 0 },
              waitingCalls: 2,
              commands: 2,
              callbacks: 0,
            },
          },
        ],
      },
    },
    handle: async () => ({
      instances: (await listInstances(database.pages)).map(({ startedAt, heartbeatAt, clockOffsetMs, status, ...instance }) => ({
        ...instance,
        startedAt: isoTime(startedAt),
        seenAt: isoTime(heartbeatAt),
        ...(clockOffsetMs === null ? {} : { clockOffsetMs }),
        ...(status === undefined ? {} : { status }),
      })),
    }),
  });
}
