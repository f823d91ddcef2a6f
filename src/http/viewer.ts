// Who looks at the cabinet: a person with a session, or a machine with the admin token. Here stand the values; who may do what is a table
// in cabinet/roles.ts, and authentication.ts holds every request to it.
import type { FastifyRequest } from 'fastify';
import { createNotes } from './notes.ts';

export type Role = 'operator' | 'merchant' | 'viewer';

export interface Viewer {
  /** As people know them; not unique, and theirs to choose. */
  name: string;
  /** As the audit log knows them: unique. */
  actor: string;
  role: Role;
  /** Whose rows they see; absent: all. */
  merchantId?: string | undefined;
  /** Absent for the admin token. */
  userId?: string | undefined;
  sessionId?: string | undefined;
  /** On clock.elapsed(): until then their password or code counts as just given. */
  confirmedUntilMs: number;
  /** They may do nothing but set up one-time codes, which this gateway asks of operators. */
  needsTotp?: boolean | undefined;
}

/** A machine: it has no password to be asked for. */
export const adminViewer: Viewer = {
  name: 'admin token',
  actor: 'admin token',
  role: 'operator',
  confirmedUntilMs: Number.POSITIVE_INFINITY,
};

const viewers = createNotes<FastifyRequest, Viewer>();

/** For authentication.ts alone, once it has judged. */
export function setViewer(request: FastifyRequest, viewer: Viewer): void {
  viewers.set(request, viewer);
}

export function viewerOf(request: FastifyRequest): Viewer {
  const viewer = viewers.of(request);
  if (viewer === undefined) throw new Error('viewerOf on a route without sign-in');
  return viewer;
}

/** On open routes: the signed-in user, if any. */
export function optionalViewerOf(request: FastifyRequest): Viewer | undefined {
  return viewers.of(request);
}

/** Who did it, for the audit log. */
export function actorOf(request: FastifyRequest): string {
  return viewerOf(request).actor;
}
