// The logins by which the gateway manages devices at brokers are tried at the start: what does not work is one line of the log each, with the
// setting to look at and what will not work because of it; a gateway starts all the same.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/system.ts';
import { createRabbitmqConnections } from '../../src/link/brokers/rabbitmq-connections.ts';
import { checkBrokerAdmins } from '../../src/wiring/broker-admins.ts';
import { freePort } from '../support/free-port.ts';
import { quietLogger, recordingLogger } from '../support/quiet-logger.ts';

const works = { check: async () => {} };
const fails = (reason: unknown) => ({
  async check(): Promise<void> {
    throw reason;
  },
});

async function linesOf(parts: Parameters<typeof checkBrokerAdmins>[1]): Promise<Record<string, unknown>[]> {
  const logger = recordingLogger();
  await checkBrokerAdmins(logger, parts);
  return logger.lines.map(({ fields, ...line }) => ({ ...line, ...fields }));
}

describe('the check of the brokers’ admin logins', () => {
  const closers: (() => void)[] = [];
  afterEach(() => {
    for (const close of closers.splice(0)) close();
  });

  it('is silent when they work, or when none is set', async () => {
    expect(await linesOf({ logins: works, rabbitmqConnections: works })).toEqual([]);
    expect(await linesOf({ logins: undefined, rabbitmqConnections: undefined })).toEqual([]);
  });

  it('names for each what is wrong, the setting and the consequence, and never rejects', async () => {
    const lines = await linesOf({
      logins: fails(new Error('Connection refused: Not authorized')),
      rabbitmqConnections: fails('a text instead of an error'),
    });
    expect(lines).toEqual([
      {
        level: 'error',
        setting: 'TILLGATE_MOSQUITTO_ADMIN_URL',
        reason: 'Connection refused: Not authorized',
        message: expect.stringMatching(/^Mosquitto .*no device can be paired$/),
      },
      {
        level: 'error',
        setting: 'TILLGATE_RABBITMQ_API_URL',
        reason: 'a text instead of an error',
        message: expect.stringMatching(/^RabbitMQ's management API .*stays connected$/),
      },
    ]);
  });

  it('one that fails does not hide the other', async () => {
    const [line, ...more] = await linesOf({ logins: works, rabbitmqConnections: fails(new Error('HTTP 500')) });
    expect(line).toMatchObject({ setting: 'TILLGATE_RABBITMQ_API_URL', reason: 'HTTP 500' });
    expect(more).toEqual([]);
  });

  it('says that a password is wrong, or that nothing answers, without the password', async () => {
    const api = createServer((_request, response) => response.writeHead(401).end()).listen(0, '127.0.0.1');
    await new Promise((resolve) => api.once('listening', resolve));
    closers.push(() => api.close());
    const reasonAt = async (port: number) => {
      const apiUrl = `http://tillgate:canary-password@127.0.0.1:${port}`;
      const rabbitmqConnections = createRabbitmqConnections({ apiUrl, clock: systemClock, logger: quietLogger });
      const lines = await linesOf({ logins: undefined, rabbitmqConnections });
      expect(lines).toHaveLength(1);
      expect(JSON.stringify(lines)).not.toContain('canary-password');
      return lines[0]?.['reason'];
    };
    expect(await reasonAt((api.address() as AddressInfo).port)).toBe('HTTP 401: wrong user or password');
    const gone = await freePort();
    expect(await reasonAt(gone)).toMatch(`Nothing listens at 127.0.0.1:${gone}`);
  });
});
