// The short form of `npm run load`: everybody is answered, nothing is charged twice, and a good caller is not forgotten beside the press.
import { describe, expect, it } from 'vitest';
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
  it('a hundred payments are open at once, each is approved and charged once', slowTest, async () => {
    expectKept(await openPays(options));
  });

  it('hundreds of slow sockets that come back do not keep a good caller from its answers', slowTest, async () => {
    expectKept(await slowSockets(options));
  });

  it('a dead ERP does not hold up the callbacks of healthy ones', slowTest, async () => {
    expectKept(await deadErp(options));
  });

  it('nor do more dead ones than there are places', slowTest, async () => {
    expectKept(await manyDeadErps(options));
  });

  it('sales, documents, invoices and repeats go on without a wrong answer', slowTest, async () => {
    expectKept(await mixedLoad(options));
  });
});

describe('the check itself', () => {
  it('sees what is over its bound or not the wanted figure', () => {
    expect(isKept({ what: 'ms', value: 11, atMost: 10 })).toBe(false);
    expect(isKept({ what: 'twice', value: 1, exactly: 0 })).toBe(false);
    expect(isKept({ what: 'ms', value: 10, atMost: 10 })).toBe(true);
  });
});
