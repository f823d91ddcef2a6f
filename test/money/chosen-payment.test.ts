// A person in the cabinet chooses a payment by its id: the numbers are not compared, but it must be a payment of the terminal that is named.
import { describe, expect, it } from 'vitest';
import { perform } from '../../exploration/lines.ts';
import { firstState, merchantId, runIn, type State } from '../../exploration/world.ts';

const lines = ['Pay t1 n 150.00', 't1 executes p1', 'CloseDoc t1 n op-p1', 't1 executes c1'];
const paid = (): State => lines.reduce((state, line) => perform(state, line).state, firstState({ terminals: ['t1', 't2'] }));

const voided = (deviceId: string, paymentId: string) =>
  runIn(paid(), {
    ...{ type: 'CancelTransaction', merchantId, newId: 'v1', deviceId, documentNr: 'n', operationId: 'op-p1', amountBani: 15000 },
    ...{ token: '', paymentId, isByPerson: true },
  });

describe('a chosen payment', () => {
  it('is voided on its terminal', () => expect(voided('t1', 'p1').effects).toContainEqual({ type: 'send', id: 'v1' }));
  it.each([
    ['t2', 'p1'],
    ['t1', 'c1'],
  ])('is not voided at %s as %s', (deviceId, paymentId) => expect(voided(deviceId, paymentId).effects).toEqual([]));
});
