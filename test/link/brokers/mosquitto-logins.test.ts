// Device logins at Mosquitto, on a fake MQTT client: which commands are written, in which order, and how each failure is reported.
import { EventEmitter } from 'node:events';
import { beforeEach, describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/kernel/error-codes.ts';
import { createMosquittoLogins, type DeviceLogins, type HeldLogin } from '../../../src/link/brokers/mosquitto-logins.ts';
import { mqttTopics } from '../../../src/link/protocol.ts';
import { deviceA, deviceB } from '../../contract/channel.ts';
import { seededRandom } from '../../support/seeded-random.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

const { deviceId } = deviceA;
const control = '$CONTROL/dynamic-security/v1';
const refusal = {
  errorName: 'Internal_error',
  httpStatus: 503,
  retryAfterS: 5,
  message: "Mosquitto did not take the change of the device's login.",
};

class FakeClient extends EventEmitter {
  connected = false;
  readonly ends: unknown[] = [];
  readonly subscribed: { topic: string; options: unknown; done(error?: Error): void }[] = [];
  readonly published: { topic: string; text: string; options: unknown; done(error?: Error): void }[] = [];
  readonly options: unknown;

  constructor(options: unknown) {
    super();
    this.options = options;
  }

  subscribe(topic: string, options: unknown, done: (error?: Error) => void): void {
    this.subscribed.push({ topic, options, done });
  }

  publish(topic: string, text: string, options: unknown, done: (error?: Error) => void): void {
    this.published.push({ topic, text, options, done });
  }

  end(isForced: boolean): void {
    this.ends.push(isForced);
    this.connected = false;
  }

  connect(): void {
    this.connected = true;
    this.emit('connect');
  }

  say(payload: string): void {
    this.emit('message', `${control}/response`, Buffer.from(payload));
  }

  /** Replies to the last commands, each with its error, if any. */
  reply(errors: Record<string, string> = {}): void {
    this.say(JSON.stringify({ responses: this.marked.map((sent) => ({ ...sent, error: errors[sent.command] })) }));
  }

  /** The last commands as Mosquitto echoes them. */
  get marked(): { command: string; correlationData: string }[] {
    const { commands } = JSON.parse(this.published.at(-1)?.text ?? '{}') as { commands: { command: string; correlationData: string }[] };
    return commands.map(({ command, correlationData }) => ({ command, correlationData }));
  }

  get commands(): Record<string, unknown>[] {
    const { commands } = JSON.parse(this.published.at(-1)?.text ?? '{}') as { commands: Record<string, unknown>[] };
    return commands.map(({ correlationData: _mark, ...command }) => command);
  }
}

let clock: VirtualClock;
let clients: FakeClient[];
let warned: unknown[];
let logins: DeviceLogins;
beforeEach(() => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  clients = [];
  warned = [];
  logins = create();
});

function create(options: { answerWithinMs?: number; maxAtOnce?: number } = {}): DeviceLogins {
  const connect = (_url: string, given: unknown) => {
    const client = new FakeClient(given);
    clients.push(client);
    return client;
  };
  const library = async () => ({ connect: connect as never });
  return createMosquittoLogins({
    url: 'mqtt://m',
    clock,
    random: seededRandom(3),
    logger: { warn: (fields) => void warned.push(fields) },
    library,
    ...options,
  });
}

const client = (at = clients.length - 1) => clients[at] as FakeClient;

/** Starts a change; `over` returns its result or error. */
function begin<Result>(work: (login: HeldLogin) => Promise<Result>, of = deviceId) {
  const change = logins.change(of, work);
  let over: { result?: Result; error?: unknown } | undefined;
  change.then(
    (result) => (over = { result }),
    (error: unknown) => (over = { error }),
  );
  return { over: () => over };
}

/** Connects and subscribes, so that the work starts. */
async function open(): Promise<FakeClient> {
  await clock.settle();
  client().connect();
  await clock.settle();
  client().subscribed[0]?.done();
  await clock.settle();
  return client();
}

/** Runs the work, then `then`, and returns the result of the change. */
async function ended<Result>(work: (login: HeldLogin) => Promise<Result>, then: (client: FakeClient) => unknown) {
  const change = begin(work);
  const opened = await open();
  await then(opened);
  await clock.settle();
  return change.over();
}

const causeOf = () => (warned.at(-1) as { err?: Error } | undefined)?.err?.message;

describe('the connection for a change', () => {
  it('uses a client id per device, so that a second change ends the first, and never reconnects', async () => {
    const change = begin(async () => 'done');
    await clock.settle();
    expect(client().options).toEqual({
      ...{ protocolVersion: 4, clientId: `tillgate-login-${deviceId}`, clean: true, keepalive: 10, connectTimeout: 3_000 },
      ...{ reconnectPeriod: 0, resubscribe: false, queueQoSZero: false },
    });
    client().connect();
    await clock.settle();
    expect(client().subscribed).toMatchObject([{ topic: `${control}/response`, options: { qos: 1 } }]);
    expect([change.over(), client().ends]).toEqual([undefined, []]);
    client().subscribed[0]?.done();
    await clock.settle();
    expect([change.over(), client().ends, warned, clock.pending]).toEqual([{ result: 'done' }, [true], [], 0]);
    // Only an error listener is left, so that a late error is not thrown.
    expect([client().listenerCount('close'), client().listenerCount('error')]).toEqual([0, 1]);
    client().emit('error', new Error('late'));
  });

  it.each([
    ['is not open within three seconds', () => clock.advance(3_000), 'no answer in time, or the connection ended'],
    ['closes before it is open', () => client().emit('close'), 'no answer in time, or the connection ended'],
    ['is refused', () => client().emit('error', new Error('Not authorized')), 'Not authorized'],
  ])('that %s fails with that cause, and is closed', async (_how, fail, cause) => {
    const change = begin(async () => 'done');
    await clock.settle();
    await fail();
    await clock.settle();
    expect(change.over()?.error).toMatchObject(refusal);
    expect([client().ends, causeOf(), clock.pending]).toEqual([[true], cause, 0]);
    expect(warned).toMatchObject([{ deviceId }]);
  });

  it('times out after three seconds, for the connection and for the subscription each', async () => {
    const change = begin(async () => 'done');
    await clock.advance(2_999);
    client().connect();
    await clock.advance(2_999);
    expect(change.over()).toBeUndefined();
    await clock.advance(1);
    expect(change.over()?.error).toMatchObject(refusal);
    expect(client().ends).toEqual([true]);
  });

  it('uses the configured time-out', async () => {
    logins = create({ answerWithinMs: 100 });
    const change = begin(async () => 'done');
    await clock.advance(100);
    expect(change.over()?.error).toMatchObject(refusal);
    expect(client().options).toMatchObject({ connectTimeout: 100 });
  });

  it('fails when Mosquitto refuses the subscription to replies', async () => {
    const change = begin(async () => 'done');
    await clock.settle();
    client().connect();
    await clock.settle();
    client().subscribed[0]?.done(new Error('not allowed'));
    await clock.settle();
    expect(change.over()?.error).toMatchObject(refusal);
    expect([client().ends, causeOf()]).toEqual([[true], 'not allowed']);
  });

  it.each([
    ['an error', new Error('odd')],
    ['a refusal', new GatewayError('Record_not_exist', 'There is no such device.')],
  ])('is closed when the work throws %s, which is rethrown and not logged as an error of Mosquitto', async (_what, own) => {
    expect(
      await ended(
        async () => Promise.reject(own),
        () => {},
      ),
    ).toEqual({ error: own });
    expect([client().ends, warned]).toEqual([[true], []]);
  });

  it('is refused above the limit of concurrent changes, without connecting, and accepted once a change has ended', async () => {
    logins = create({ maxAtOnce: 2 });
    const first = begin(async () => 'one');
    const one = await open().then(() => client());
    begin(async () => 'two', deviceB.deviceId);
    const third = begin((login) => login.confirm());
    await clock.settle();
    // The first change has ended, so the third was accepted and only the fourth is refused.
    expect([first.over(), one.ends]).toEqual([{ result: 'one' }, [true]]);
    const fourth = begin(async () => 'four');
    await clock.settle();
    expect([third.over(), clients.length]).toEqual([undefined, 3]);
    expect(fourth.over()?.error).toMatchObject({ errorName: 'Too_Many_Requests', retryAfterS: 2 });
    expect(warned).toEqual([]);
    // A failed change releases its slot as well.
    client().emit('close');
    await clock.settle();
    expect(third.over()?.error).toMatchObject(refusal);
    begin(async () => 'five');
    await clock.settle();
    expect(clients).toHaveLength(4);
  });

  it('is limited to twenty concurrent changes by default', async () => {
    for (let count = 0; count < 20; count += 1) begin(async () => {});
    const late = begin(async () => {});
    await clock.settle();
    expect([clients.length, late.over()?.error]).toMatchObject([20, { errorName: 'Too_Many_Requests' }]);
  });
});

describe('a login', () => {
  it('is created anew: the old one is deleted first, and the ACL has only the topics of the device', async () => {
    const over = await ended(
      (login) => login.put('s', false),
      (opened) => {
        const rolename = `tillgate-device-${deviceId}`;
        expect(opened.published).toMatchObject([{ topic: control, options: { qos: 1 } }]);
        expect(opened.commands).toEqual([
          { command: 'deleteClient', username: deviceId },
          { command: 'deleteRole', rolename },
          {
            command: 'createRole',
            rolename,
            acls: [
              { acltype: 'subscribeLiteral', topic: mqttTopics.commands(deviceId), allow: true },
              { acltype: 'publishClientReceive', topic: mqttTopics.commands(deviceId), allow: true },
              { acltype: 'publishClientSend', topic: mqttTopics.answers(deviceId, '+'), allow: true },
              { acltype: 'publishClientSend', topic: mqttTopics.presence(deviceId), allow: true },
            ],
          },
          { command: 'createClient', username: deviceId, password: 's', clientid: deviceId, roles: [{ rolename }] },
        ]);
        opened.published[0]?.done();
        opened.reply({ deleteClient: 'Client not found', deleteRole: 'Role not found' });
      },
    );
    expect([over, client().ends, clock.pending]).toEqual([{ result: undefined }, [true], 0]);
  });

  it('of a disabled device is created and disabled in one batch', async () => {
    const over = await ended(
      (login) => login.put('s', true),
      (opened) => {
        expect(opened.commands).toHaveLength(5);
        expect(opened.commands.at(-1)).toEqual({ command: 'disableClient', username: deviceId });
        opened.reply();
      },
    );
    expect(over).toEqual({ result: undefined });
  });

  it.each(['createRole', 'createClient', 'disableClient'])('whose %s is refused is reported as not written', async (command) => {
    const over = await ended(
      (login) => login.put('s', true),
      (opened) => opened.reply({ [command]: 'Internal error' }),
    );
    expect(over?.error).toMatchObject(refusal);
    expect(causeOf()).toBe(`${command}: Internal error`);
  });

  it.each([
    [true, 'disableClient'],
    [false, 'enableClient'],
  ])('is switched (disabled: %s) by %s, with different results for an unknown login and for a failure', async (isDisabled, command) => {
    const work = (login: HeldLogin) => login.setDisabled(isDisabled);
    const set = await ended(work, (opened) => {
      expect(opened.commands).toEqual([{ command, username: deviceId }]);
      opened.reply();
    });
    expect(set).toEqual({ result: 'set' });
    expect(await ended(work, (opened) => opened.reply({ [command]: 'Client not found' }))).toEqual({ result: 'unknown' });
    expect((await ended(work, (opened) => opened.reply({ [command]: 'Failed' })))?.error).toMatchObject(refusal);
    expect(causeOf()).toBe(`${command}: Failed`);
  });

  it('is confirmed by reading it on the same connection', async () => {
    const work = (login: HeldLogin) => login.confirm();
    const confirmed = await ended(work, (opened) => {
      expect(opened.commands).toEqual([{ command: 'getClient', username: deviceId }]);
      opened.reply();
    });
    expect(confirmed).toEqual({ result: undefined });
    expect((await ended(work, (opened) => opened.reply({ getClient: 'Client not found' })))?.error).toMatchObject(refusal);
    expect(causeOf()).toBe('getClient: Client not found');
  });
});

describe('a reply', () => {
  const confirm = (login: HeldLogin) => login.confirm();

  it.each([
    ['no JSON', '{'],
    ['no list', '{"responses":{"length":1}}'],
    ['no object', '7'],
    ['empty', '{"responses":[]}'],
    ['a list of null', '{"responses":[null]}'],
    ['without a correlation id', '{"responses":[{"command":"getClient"}]}'],
    ['of another change', '{"responses":[{"command":"getClient","correlationData":"another"}]}'],
  ])('that is %s is ignored, and the matching one is accepted', async (_what, payload) => {
    const over = await ended(confirm, async (opened) => {
      opened.say(payload);
      await clock.settle();
      expect(opened.ends).toEqual([]);
      opened.reply();
    });
    expect(over).toEqual({ result: undefined });
    expect(client().listenerCount('message')).toBe(0);
  });

  it('with more entries than commands were sent confirms nothing', async () => {
    const over = await ended(confirm, (opened) => opened.say(JSON.stringify({ responses: [...opened.marked, ...opened.marked] })));
    expect(over?.error).toMatchObject(refusal);
    expect(causeOf()).toBe('an answer with the wrong number of replies');
  });

  it.each([
    ['does not arrive within three seconds', () => clock.advance(3_000), 'no answer in time, or the connection ended'],
    [
      'cannot arrive because another change has ended the connection',
      () => client().emit('close'),
      'no answer in time, or the connection ended',
    ],
    ['cannot arrive because the connection failed', () => client().emit('error', new Error('ECONNRESET')), 'ECONNRESET'],
    ['cannot arrive because the command was not sent', () => client().published[0]?.done(new Error('EPIPE')), 'EPIPE'],
  ])('that %s confirms nothing', async (_how, fail, cause) => {
    const over = await ended(confirm, fail);
    expect(over?.error).toMatchObject(refusal);
    expect([client().ends, causeOf(), clock.pending]).toEqual([[true], cause, 0]);
  });

  it('is not awaited on a closed connection, and nothing is published late', async () => {
    let goOn = () => {};
    const stoodStill = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const change = begin(async (login) => {
      await stoodStill;
      await login.put('the late one', false);
    });
    const opened = await open();
    opened.connected = false;
    goOn();
    await clock.settle();
    expect(change.over()?.error).toMatchObject(refusal);
    expect([opened.published, opened.ends]).toEqual([[], [true]]);
  });
});
