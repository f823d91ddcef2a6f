// The broker of a fleet: a separate one, to which thousands of devices may log in. RabbitMQ asks the first gateway about them.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { cpuMsOf, megabytesOf } from '../../test/support/process-figures.ts';
import { startMosquitto } from '../../test/support/servers/mosquitto.ts';
import { startShippedRabbitmq } from '../../test/support/servers/shipped-rabbitmq.ts';

export type BrokerName = 'mosquitto' | 'rabbitmq';

export interface FleetBroker {
  /** Settings of the gateways: the addresses of both channels. */
  settings: Record<string, string>;
  port: number;
  memoryMb(): number;
  cpuMs(): number;
  stop(): Promise<void>;
}

/** `rabbitmqUrl`: the queue beside Mosquitto. `authPort`: of the gateway that RabbitMQ asks. */
export async function startFleetBroker(name: BrokerName, rabbitmqUrl: string, authPort: number): Promise<FleetBroker> {
  const token = 'the-token-of-the-whole-fleet';
  if (name === 'mosquitto') {
    const server = await startMosquitto({ config: 'allow_anonymous true\nmax_connections -1' });
    const settings = { TILLGATE_MQTT_URL: server.url, TILLGATE_QUEUE_URL: rabbitmqUrl, TILLGATE_BROKER_TOKEN: token };
    return { settings, port: server.port, ...figuresOf(server.port), stop: server.stop };
  }
  const server = await startShippedRabbitmq(authPort, token);
  const settings = { TILLGATE_MQTT_URL: server.mqttUrl, TILLGATE_QUEUE_URL: server.url, TILLGATE_BROKER_TOKEN: token };
  return { settings, port: server.mqttPort, ...figuresOf(server.mqttPort), stop: server.stop };
}

function figuresOf(port: number): Pick<FleetBroker, 'memoryMb' | 'cpuMs'> {
  const pid = processAt(port);
  return { memoryMb: () => Math.round(megabytesOf(pid)), cpuMs: () => cpuMsOf(pid) };
}

/** The process that listens there, from Linux. */
function processAt(port: number): number {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const tables = ['/proc/net/tcp', '/proc/net/tcp6'].map((file) => readFileSync(file, 'utf8')).join('\n');
  const inode = new RegExp(`:${hex} \\S+ 0A (?:\\S+ +){5}(\\d+)`).exec(tables)?.[1];
  const holds = (pid: string) => {
    try {
      return readdirSync(`/proc/${pid}/fd`).some((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`) === `socket:[${inode}]`);
    } catch {
      // Ended meanwhile, or another user's.
      return false;
    }
  };
  const pid = readdirSync('/proc').find((name) => /^\d+$/.test(name) && holds(name));
  if (pid === undefined) throw new Error(`No process listens on port ${port}.`);
  return Number(pid);
}
