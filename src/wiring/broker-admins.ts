// Checks at the start the admin logins with which the gateway manages devices at an external broker. Otherwise a wrong password would show
// only weeks later, when the first device is paired or cut off, and would be hard to find.
import type { Logger } from '../kernel/logger.ts';
import { systemSentence } from '../kernel/system-errors.ts';
import type { DeviceLogins } from '../link/brokers/mosquitto-logins.ts';
import type { RabbitmqConnections } from '../link/brokers/rabbitmq-connections.ts';

interface Parts {
  logins: Pick<DeviceLogins, 'check'> | undefined;
  rabbitmqConnections: Pick<RabbitmqConnections, 'check'> | undefined;
}

/** Logs failures. Never rejects: an unavailable broker may come back. */
export async function checkBrokerAdmins(logger: Logger, { logins, rabbitmqConnections }: Parts): Promise<void> {
  const tried = async (part: { check(): Promise<void> } | undefined, setting: string, consequence: string) =>
    part?.check().catch((error: unknown) => {
      logger.error({ setting, reason: systemSentence(error) ?? (error instanceof Error ? error.message : String(error)) }, consequence);
    });
  await Promise.all([
    tried(
      logins,
      'TILLGATE_MOSQUITTO_ADMIN_URL',
      'Mosquitto refuses changes to the logins of devices by the gateway: no device can be paired',
    ),
    tried(
      rabbitmqConnections,
      'TILLGATE_RABBITMQ_API_URL',
      "RabbitMQ's management API refuses to end connections for the gateway: a device that is cut off stays connected",
    ),
  ]);
}
