// The logins by which the gateway manages devices at an outside broker are tried at the start: without them everything runs until the first
// device is paired or cut off, and its cause, a password that was wrong for weeks, would be hard to find.
import type { Logger } from '../kernel/logger.ts';
import { systemSentence } from '../kernel/system-errors.ts';
import type { DeviceLogins } from '../link/brokers/mosquitto-logins.ts';
import type { RabbitmqConnections } from '../link/brokers/rabbitmq-connections.ts';

export interface BrokerAdmins {
  /** Logs what does not work. Never rejects: a broker that is away comes back by itself. */
  check(): Promise<void>;
}

interface Parts {
  logins: Pick<DeviceLogins, 'check'> | undefined;
  rabbitmqConnections: Pick<RabbitmqConnections, 'check'> | undefined;
}

export function createBrokerAdmins(logger: Logger, { logins, rabbitmqConnections }: Parts): BrokerAdmins {
  const tried = async (part: { check(): Promise<void> } | undefined, setting: string, consequence: string) =>
    part?.check().catch((error: unknown) => {
      logger.error({ setting, reason: systemSentence(error) ?? (error instanceof Error ? error.message : String(error)) }, consequence);
    });
  return {
    async check() {
      await Promise.all([
        tried(
          logins,
          'TILLGATE_MOSQUITTO_ADMIN_URL',
          'Mosquitto does not let the gateway change the logins of devices: none can be paired',
        ),
        tried(
          rabbitmqConnections,
          'TILLGATE_RABBITMQ_API_URL',
          "RabbitMQ's management API does not let the gateway end connections: a device that is cut off stays connected",
        ),
      ]);
    },
  };
}
