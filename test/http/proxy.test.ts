import { describe, expect, it } from 'vitest';
import { base, createSample } from './sample-server.ts';

const wrongKey = '99999999-9999-4999-8999-999999999999';

async function codesOf(isBehindProxy: boolean, forwarded: string[]): Promise<number[]> {
  const { server } = createSample({ isBehindProxy, failedAttempts: { burst: 2, perS: 0.000_1 } });
  const codes: number[] = [];
  for (const address of forwarded) {
    const answer = await server.app.inject({
      method: 'GET',
      url: `${base}/Device/sample/Status?APIKey=${wrongKey}`,
      headers: { 'x-forwarded-for': address },
    });
    codes.push(answer.json<{ errorCode: number }>().errorCode);
  }
  await server.stop(0);
  return codes;
}

describe('guessing keys from behind a proxy', () => {
  it('is slowed by the address that the proxy saw, whatever the client wrote before it', async () => {
    expect(await codesOf(true, ['1.1.1.1, 203.0.113.7', '2.2.2.2, 203.0.113.7', '3.3.3.3, 203.0.113.7'])).toEqual([10, 10, 41]);
  });

  it('does not slow another address', async () => {
    expect(await codesOf(true, ['203.0.113.7', '203.0.113.7', '203.0.113.8'])).toEqual([10, 10, 10]);
  });

  it('ignores the header when no proxy is there', async () => {
    expect(await codesOf(false, ['1.1.1.1', '2.2.2.2', '3.3.3.3'])).toEqual([10, 10, 41]);
  });
});
