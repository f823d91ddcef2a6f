// The logins of devices at a Mosquitto with its dynamic security plugin, written over its $CONTROL topic [D104].
// Invariant: of two concurrent changes of one device's login, by any instances, the later one wins. Each change uses its own connection, whose
// client id names the device. A broker that gets a second connection with the same client id closes the first, whose remaining commands
// are then never executed. So a process that connects, reads the database, writes the login, commits and then succeeds with `confirm` can
// rely on it that no other process has changed the login in between, even if it stalled.
// Everything is bounded: if Mosquitto does not answer, a change fails after some seconds; a few changes run at once, more are refused.
import type { connect, IClientOptions, MqttClient } from 'mqtt';
import type { Clock } from '../../kernel/clock.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { Random } from '../../kernel/random.ts';
import { mqttTopics } from '../protocol.ts';

export interface HeldLogin {
  /** Replaces the device's login and ends its connections. */
  put(secret: string, isDisabled: boolean): Promise<void>;
  /** `unknown`: there is no such login. Disabling ends its connections. */
  setDisabled(isDisabled: boolean): Promise<'set' | 'unknown'>;
  /** Throws if another process has begun to change this login in the meantime. */
  confirm(): Promise<void>;
}

export interface DeviceLogins {
  /** Runs `work` while holding the device's login; rejects if Mosquitto does not answer. */
  change<Result>(deviceId: string, work: (login: HeldLogin) => Promise<Result>): Promise<Result>;
  /** Checks that logins can be changed, with a device that does not exist, so that nothing changes. Rejects with Mosquitto's error. */
  check(): Promise<void>;
}

export interface MosquittoLoginsOptions {
  /** mqtt://admin:password@host:port, a login that may use $CONTROL/dynamic-security. */
  url: string;
  clock: Clock;
  random: Pick<Random, 'uuid'>;
  /** Records the reason of a failure, which the caller does not get. */
  logger: Pick<Logger, 'warn'>;
  /** Time-out of each step: the connection, a change, the confirmation. */
  answerWithinMs?: number;
  maxAtOnce?: number;
  /** Instead of the package `mqtt`: for tests. */
  library?: () => Promise<{ connect: typeof connect }>;
}

interface Reply {
  command: string;
  error?: string;
  correlationData?: string;
}

const controlTopic = '$CONTROL/dynamic-security/v1';
const defaultAnswerWithinMs = 3_000;
const defaultMaxAtOnce = 20;
// Also the time after which a broker that has lost our connection closes it.
const keepaliveS = 10;

/** `why`, for the log: the error of Mosquitto or of the network, if any. */
const silent = (why: Error | string = 'no answer in time, or the connection ended') =>
  new GatewayError('Internal_error', "Mosquitto did not take the change of the device's login.", {
    httpStatus: 503,
    retryAfterS: 5,
    cause: typeof why === 'string' ? new Error(why) : why,
  });

/** One client id per device: the broker ends the earlier of two connections. */
function connectionOf(deviceId: string, connectTimeout: number): IClientOptions {
  return {
    protocolVersion: 4,
    clientId: `tillgate-login-${deviceId}`,
    clean: true,
    keepalive: keepaliveS,
    connectTimeout,
    reconnectPeriod: 0,
    resubscribe: false,
    queueQoSZero: false,
  };
}

export function createMosquittoLogins(options: MosquittoLoginsOptions): DeviceLogins {
  const { clock, answerWithinMs = defaultAnswerWithinMs, maxAtOnce = defaultMaxAtOnce, library = () => import('mqtt') } = options;
  let running = 0;

  /** Rejects after the bound, or when the connection ends. */
  async function within<Result>(
    client: MqttClient,
    step: (resolve: (result: Result) => void, reject: (error: Error) => void) => void,
  ): Promise<Result> {
    let cleanUp = () => {};
    try {
      return await new Promise<Result>((resolve, reject) => {
        const onEnd = (error?: Error) => reject(silent(error));
        const cancel = clock.after(answerWithinMs, onEnd);
        client.on('close', onEnd).on('error', onEnd);
        cleanUp = () => {
          cancel();
          client.off('close', onEnd).off('error', onEnd);
        };
        step(resolve, reject);
      });
    } finally {
      cleanUp();
    }
  }

  async function open(deviceId: string): Promise<MqttClient> {
    const mqtt = await library();
    const client = mqtt.connect(options.url, connectionOf(deviceId, answerWithinMs));
    // A refused login, an unknown host, a reset.
    client.on('error', () => {});
    try {
      await within<void>(client, (resolve) => client.once('connect', () => resolve()));
      await within<void>(client, (resolve, reject) => {
        client.subscribe(`${controlTopic}/response`, { qos: 1 }, (error) => (error ? reject(silent(error)) : resolve()));
      });
      return client;
    } catch (error) {
      client.end(true);
      throw error;
    }
  }

  /**
   * Replies arrive in the order of the commands; one batch is sent at a time. Mosquitto sends every reply to all subscribers, so replies to
   * other changes, by this gateway or another, are recognised by their correlationData and skipped.
   */
  async function send(client: MqttClient, commands: object[]): Promise<Reply[]> {
    if (!client.connected) throw silent();
    const correlationData = options.random.uuid();
    const marked = commands.map((command) => ({ ...command, correlationData }));
    let onMessage: (topic: string, payload: Uint8Array) => void = () => {};
    try {
      return await within<Reply[]>(client, (resolve, reject) => {
        onMessage = (_topic, payload) => {
          const replies = readReplies(payload)?.filter((reply) => reply?.correlationData === correlationData);
          if (replies === undefined || replies.length === 0) return;
          if (replies.length === commands.length) resolve(replies);
          else reject(silent('an answer with the wrong number of replies'));
        };
        client.on('message', onMessage);
        client.publish(controlTopic, JSON.stringify({ commands: marked }), { qos: 1 }, (error) => error && reject(silent(error)));
      });
    } finally {
      client.off('message', onMessage);
    }
  }

  const logins: DeviceLogins = {
    async check() {
      try {
        await logins.change(options.random.uuid(), (login) => login.setDisabled(true));
      } catch (error) {
        throw error instanceof GatewayError && error.cause instanceof Error ? error.cause : error;
      }
    },
    async change(deviceId, work) {
      if (running >= maxAtOnce)
        throw new GatewayError('Too_Many_Requests', 'Too many logins are being changed at once.', { retryAfterS: 2 });
      running += 1;
      try {
        const client = await open(deviceId);
        try {
          return await work(hold(deviceId, (commands) => send(client, commands)));
        } finally {
          client.end(true);
        }
      } catch (error) {
        if (error instanceof GatewayError && error.errorName === 'Internal_error')
          options.logger.warn({ deviceId, err: error.cause }, "Mosquitto did not take the change of a device's login");
        throw error;
      } finally {
        running -= 1;
      }
    },
  };
  return logins;
}

function hold(deviceId: string, send: (commands: object[]) => Promise<Reply[]>): HeldLogin {
  return {
    async put(secret, isDisabled) {
      const commands = [...loginCommands(deviceId, secret), ...(isDisabled ? [{ command: 'disableClient', username: deviceId }] : [])];
      const replies = await send(commands);
      // A delete may fail because there was nothing to delete; no other error is expected.
      const refused = replies.find(({ command, error }) => error !== undefined && !command.startsWith('delete'));
      if (refused) throw silent(`${refused.command}: ${refused.error}`);
    },
    async setDisabled(isDisabled) {
      const command = isDisabled ? 'disableClient' : 'enableClient';
      const [reply] = await send([{ command, username: deviceId }]);
      if (reply?.error === undefined) return 'set';
      if (reply.error === 'Client not found') return 'unknown';
      throw silent(`${command}: ${reply.error}`);
    },
    async confirm() {
      const [reply] = await send([{ command: 'getClient', username: deviceId }]);
      if (reply?.error !== undefined) throw silent(`getClient: ${reply.error}`);
    },
  };
}

/** Deletes the login, which ends its connections, and creates it again. With its own role, because an ACL rule has no placeholder for the user. */
function loginCommands(deviceId: string, secret: string): object[] {
  const rolename = `tillgate-device-${deviceId}`;
  const allow = (acltype: string, topic: string) => ({ acltype, topic, allow: true });
  const acls = [
    allow('subscribeLiteral', mqttTopics.commands(deviceId)),
    allow('publishClientReceive', mqttTopics.commands(deviceId)),
    allow('publishClientSend', mqttTopics.answers(deviceId, '+')),
    allow('publishClientSend', mqttTopics.presence(deviceId)),
  ];
  return [
    { command: 'deleteClient', username: deviceId },
    { command: 'deleteRole', rolename },
    { command: 'createRole', rolename, acls },
    // The client id is the user: no device can take over another's connection.
    { command: 'createClient', username: deviceId, password: secret, clientid: deviceId, roles: [{ rolename }] },
  ];
}

function readReplies(payload: Uint8Array): Reply[] | undefined {
  try {
    const { responses } = JSON.parse(Buffer.from(payload).toString('utf8')) as { responses?: Reply[] };
    return Array.isArray(responses) ? responses : undefined;
  } catch {
    return undefined;
  }
}
