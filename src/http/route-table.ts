// The routes that exist, so that a known path with a wrong method is 405 with Allow, and not 404.

export interface RouteTable {
  add(methods: readonly string[], pattern: string): void;
  /** The methods that the path answers to; empty if there is no such path. */
  methodsFor(path: string): string[];
}

function toExpression(pattern: string): RegExp {
  const parts = pattern.split(/(:[A-Za-z0-9_]+|\*)/).map((part) => {
    if (part.startsWith(':')) return '[^/]+?';
    return part === '*' ? '.*' : part.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('').replace(/\/$/, '')}/?$`, 'i');
}

export function createRouteTable(): RouteTable {
  const routes: { expression: RegExp; methods: readonly string[] }[] = [];
  return {
    add(methods, pattern) {
      routes.push({ expression: toExpression(pattern), methods });
    },
    methodsFor(path) {
      const found = routes.filter(({ expression }) => expression.test(path)).flatMap(({ methods }) => methods);
      return [...new Set(found)].sort();
    },
  };
}
