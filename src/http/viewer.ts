// The viewer of a cabinet request: a user with a session, or a program with the admin token. The table of rights is in cabinet/roles.ts;
// authentication.ts enforces it.
import type { FastifyRequest } from 'fastify';
import { createNotes } from './notes.ts';

export type Role = 'operator' | 'merchant' | 'viewer';

export interface Viewer {
  /** The display name: chosen by the user, not unique. */
  name: string;
  /** The unique name in the audit log. */
  actor: string;
  role: Role;
  /** The merchant whose rows they see; absent: all merchants. */
  merchantId?: string | undefined;
  /** Absent for the admin token. */
  userId?: string | undefined;
  sessionId?: string | undefined;
  /** By clock.elapsed(): until then the password or code counts as just entered. */
  confirmedUntilMs: number;
  /** May only set up one-time codes, which this gateway requires of operators. */
  needsTotp?: boolean | undefined;
}

/** A program: it has no password to confirm with. */
export const adminViewer: Viewer = {
  name: 'admin token',
  actor: 'admin token',
  role: 'operator',
  confirmedUntilMs: Number.POSITIVE_INFINITY,
};

const viewers = createNotes<FastifyRequest, Viewer>();

/** Only for authentication.ts, after it has checked the credential. */
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

/** The actor for the audit log. */
export function actorOf(request: FastifyRequest): string {
  return viewerOf(request).actor;
}
