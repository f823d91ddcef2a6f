// Who may be what, and who may make them that.
import { describe, expect, it } from 'vitest';
import { requireRank, type Standing, standingOf, type WantedStanding } from '../../../src/access/people/ranks.ts';
import type { Viewer } from '../../../src/http/viewer.ts';

const wanted: [WantedStanding, Standing | string][] = [
  [{ role: 'operator' }, { role: 'operator', merchantId: null }],
  [
    { role: 'operator', allMerchants: true },
    { role: 'operator', merchantId: null },
  ],
  [{ role: 'operator', merchantId: 'm' }, 'an operator sees all merchants'],
  [
    { role: 'viewer', merchantId: 'm' },
    { role: 'viewer', merchantId: 'm' },
  ],
  [
    { role: 'viewer', merchantId: 'm', allMerchants: false },
    { role: 'viewer', merchantId: 'm' },
  ],
  [
    { role: 'viewer', allMerchants: true },
    { role: 'viewer', merchantId: null },
  ],
  [{ role: 'viewer', merchantId: 'm', allMerchants: true }, 'absent when allMerchants is true'],
  [{ role: 'viewer' }, 'merchantId is missing'],
  [
    { role: 'merchant', merchantId: 'm' },
    { role: 'merchant', merchantId: 'm' },
  ],
  [{ role: 'merchant' }, 'merchantId is missing'],
  [{ role: 'merchant', merchantId: 'm', allMerchants: true }, 'goes with the role viewer only'],
];

describe('a standing', () => {
  it.each(wanted)('%j is %j', (asked, expected) => {
    if (typeof expected === 'string') expect(() => standingOf(asked)).toThrow(expected);
    else expect(standingOf(asked)).toEqual(expected);
  });
});

describe('a role is given', () => {
  const viewer = (role: Viewer['role'], merchantId?: string): Viewer => ({ name: 'x', actor: 'x', role, merchantId, confirmedUntilMs: 0 });
  const may = (who: Viewer, standing: Standing) => {
    try {
      requireRank(who, standing);
      return true;
    } catch (error) {
      expect(error).toMatchObject({ errorName: 'API_Key_Wrong_Product', httpStatus: 403 });
      return false;
    }
  };
  const standings: Standing[] = [
    { role: 'operator', merchantId: null },
    { role: 'merchant', merchantId: 'm' },
    { role: 'merchant', merchantId: 'other' },
    { role: 'viewer', merchantId: 'm' },
    { role: 'viewer', merchantId: 'other' },
    { role: 'viewer', merchantId: null },
  ];

  it.each([
    ['an operator, whatever it is', viewer('operator'), [true, true, true, true, true, true]],
    ['a merchant’s own, within the merchant and not above', viewer('merchant', 'm'), [false, true, false, true, false, false]],
    ['no viewer of the merchant', viewer('viewer', 'm'), [false, false, false, false, false, false]],
    ['no viewer who sees all', viewer('viewer'), [false, false, false, false, false, false]],
  ])('by %s', (_who, who, expected) => {
    expect(standings.map((standing) => may(who, standing))).toEqual(expected);
  });

  it('to no operator by a merchant that has none', () => {
    // Not a standing that there is; the rule does not lean on that.
    expect(may({ ...viewer('merchant', 'm') }, { role: 'operator', merchantId: 'm' })).toBe(false);
  });
});
