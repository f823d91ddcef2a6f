// All routes, so that a known path with a wrong method is 405 with Allow, and not 404.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { noSuchPath, protocolFailure } from './envelope.ts';

export type RouteTable = ReturnType<typeof createRouteTable>;

function toExpression(pattern: string): RegExp {
  const parts = pattern.split(/(:[A-Za-z0-9_]+|\*)/).map((part) => {
    if (part.startsWith(':')) return '[^/]+?';
    return part === '*' ? '.*' : part.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('').replace(/\/$/, '')}/?$`, 'i');
}

export function createRouteTable(basePath: string) {
  const routes: { expression: RegExp; methods: readonly string[] }[] = [];

  /** The methods of the path; empty if there is no such path. */
  function methodsFor(path: string): string[] {
    const found = routes.filter(({ expression }) => expression.test(path)).flatMap(({ methods }) => methods);
    return [...new Set(found)].sort();
  }

  return {
    add(methods: readonly string[], pattern: string): void {
      routes.push({ expression: toExpression(pattern), methods });
    },
    /** Throws the error for an unknown path or method. */
    refuseUnknown(request: FastifyRequest, reply: FastifyReply): never {
      if (request.headers.upgrade !== undefined) reply.header('connection', 'close');
      const path = request.url.split('?', 1)[0] ?? '';
      const methods = methodsFor(path);
      // Every path outside gets the hint, whether it exists below the base path or not: hidden paths must stay hidden.
      if (methods.length === 0) throw noSuchPath(isUnder(basePath, path) ? undefined : basePath);
      reply.header('allow', methods.join(', '));
      throw protocolFailure(405, `The method must be ${methods.join(' or ')}.`);
    },
  };
}

function isUnder(basePath: string, path: string): boolean {
  return basePath === '' || `${path.toLowerCase()}/`.startsWith(`${basePath.toLowerCase()}/`);
}
