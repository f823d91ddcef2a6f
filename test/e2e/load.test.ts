// The short form of `npm run load`: every call is answered, nothing is charged twice, and normal callers are served under load.
import { describe, expect, it } from 'vitest';
import { floods } from '../../scripts/load/floods-scene.ts';
import { deadErp, manyDeadErps, mixedLoad } from '../../scripts/load/long-scenes.ts';
import { isKept, type SceneResult } from '../../scripts/load/measure.ts';
import { openPays, type SceneOptions, slowSockets } from '../../scripts/load/scenes.ts';
import { patienceMs } from '../support/gateway-process.ts';

const slowTest = { timeout: 8 * patienceMs };
const options: SceneOptions = { isShort: true, minutes: 0, say() {} };

function expectKept({ figures, checks }: SceneResult): void {
  const shown = JSON.stringify(figures);
  expect(checks.length).toBeGreaterThan(1);
  expect(
    checks.filter((check) => !isKept(check)),
    shown,
  ).toEqual([]);
}

describe('under load', () => {
  it('charges each of a hundred concurrent payments once', slowTest, async () => {
    expectKept(await openPays(options));
  });

  it('answers a normal caller beside hundreds of slow sockets that reconnect', slowTest, async () => {
    expectKept(await slowSockets(options));
  });

  it('delivers callbacks to healthy ERPs beside a dead one', slowTest, async () => {
    expectKept(await deadErp(options));
  });

  it('delivers callbacks beside more dead ERPs than there are slots', slowTest, async () => {
    expectKept(await manyDeadErps(options));
  });

  it('pays beside floods of another merchant and of anonymous clients', slowTest, async () => {
    expectKept(await floods(options));
  });

  it('answers sales, documents, invoices and repeats correctly', slowTest, async () => {
    expectKept(await mixedLoad(options));
  });
});

describe('the check itself', () => {
  it('detects a value above its limit or different from the expected one', () => {
    expect(isKept({ what: 'ms', value: 11, atMost: 10 })).toBe(false);
    expect(isKept({ what: 'twice', value: 1, exactly: 0 })).toBe(false);
    expect(isKept({ what: 'ms', value: 10, atMost: 10 })).toBe(true);
  });
});
