// Changes of keys, devices, users and secrets by the users of one merchant run one at a time on each gateway. They lock the same rows: those
// that waited for the lock would hold the connections to PostgreSQL that payments need [D322]. Operators and programs do not wait.
import type { RouteApp } from '../http/server.ts';
import { optionalViewerOf } from '../http/viewer.ts';
import { BoundedMap } from '../kernel/bounded-map.ts';
import { createGate, type Gate } from '../kernel/gate.ts';

/** Of one merchant; one more is refused. */
const maxWaiting = 20;
/** Merchants whose changes are put in order; the oldest entry makes room, which only lets two of its changes run at once. */
const maxMerchants = 1_000;

/** Applies to every route of the Fastify scope but those that only read; call it before they are added. */
export function takeChangesInTurn(app: RouteApp): void {
  const gates = new BoundedMap<string, Gate>(maxMerchants);

  function gateOf(merchantId: string): Gate {
    const gate = gates.get(merchantId) ?? createGate(1, { maxBehind: maxWaiting });
    gates.set(merchantId, gate);
    return gate;
  }

  app.addHook('onRoute', (route) => {
    const { handler } = route;
    if (route.method === 'GET' || route.method === 'HEAD') return;
    route.handler = async function inTurn(request, reply) {
      const merchantId = optionalViewerOf(request)?.merchantId;
      const change = async () => handler.call(this, request, reply);
      return merchantId === undefined ? change() : gateOf(merchantId).run(change);
    };
  });
}
