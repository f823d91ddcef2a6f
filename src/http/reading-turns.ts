// Connections that have read their part of a turn of the event loop wait for the next turns, and of one owner a few go on in each: a caller
// who sends bodies on hundreds of connections delays the others by a little in each turn that theirs need.
// Invariant: an owner none of whose connections waits takes no memory.
import type { Socket } from 'node:net';
import { atTurnsEnd } from '../kernel/system.ts';
import { type BeginOwner, ownerOfSocket } from './begins.ts';
import type { UnauthenticatedConnections } from './unauthenticated-connections.ts';

export type ReadingTurns = ReturnType<typeof createReadingTurns>;

export function createReadingTurns(connections: Pick<UnauthenticatedConnections, 'ownerOf'>) {
  const waiting = new Map<string, Pick<BeginOwner, 'perTurn'> & { goOn: (() => void)[] }>();

  let isTurnCounted = false;

  function countTurn(): void {
    if (isTurnCounted) return;
    isTurnCounted = true;
    atTurnsEnd(nextTurn);
  }

  function nextTurn(): void {
    isTurnCounted = false;
    for (const [owner, { perTurn, goOn }] of [...waiting]) {
      for (const each of goOn.splice(0, perTurn)) each();
      if (goOn.length === 0) waiting.delete(owner);
    }
    if (waiting.size > 0) countTurn();
  }

  return {
    /** Calls `goOn` at the end of this turn or of a later one. */
    wait(socket: Socket, goOn: () => void): void {
      const { owner, perTurn } = ownerOfSocket(connections, socket);
      countTurn();
      const ofOwner = waiting.get(owner) ?? { perTurn, goOn: [] };
      ofOwner.perTurn = perTurn;
      ofOwner.goOn.push(goOn);
      waiting.set(owner, ofOwner);
    },
  };
}
