// What is watched while somebody throws things at a gateway: that it lives, that a good caller beside it is served, and that nothing grows.

import type { ForeignShop } from '../conformance/foreign-shop.ts';
import { megabytesOf } from '../support/process-figures.ts';

export interface Watch {
  /** Ends the watching; throws a sentence for each promise that did not hold. */
  end(bounds: Bounds): Promise<Watched>;
}

export interface Bounds {
  neighbourMs: number;
  growthMb: number;
}

export interface Watched {
  neighbourCalls: number;
  slowestNeighbourMs: number;
  grownMb: number;
  /** Labels of the metrics that are no path of the document: pages, files, and one for all that does not exist. */
  unknownRoutes: string[];
}

/** Limits of a gateway that would hide what is looked for: everything comes from one address and one key. */
export const openDoors = {
  TILLGATE_RATE_LIMIT: '100000',
  TILLGATE_CONNECTIONS_PER_ADDRESS: '2000',
  TILLGATE_BODIES_PER_ADDRESS: '500',
  TILLGATE_MQTT_NEWCOMERS: '1000',
  TILLGATE_MQTT_NEWCOMERS_PER_ADDRESS: '1000',
  TILLGATE_DEVICE_RATE: '10000',
  TILLGATE_LOG_LEVEL: 'error',
};

const everyMs = 100;

export async function watchGateway({ gateway, till }: ForeignShop): Promise<Watch> {
  const residentMb = () => megabytesOf(gateway.pid);
  const read = async (path: string) => {
    const authorization = `Bearer ${gateway.adminToken}`;
    return (await fetch(`${till.baseUrl}${path}`, { headers: { authorization } })).text();
  };
  /** A line for each route and outcome is welcome; one for each path that somebody invents is a leak. */
  const unknownRoutes = async () => {
    const { paths } = JSON.parse(await read('/openapi.json')) as { paths: object };
    const known = new Set(Object.keys(paths).map((path) => path.replace(/\{(\w+)\}/g, ':$1')));
    const measured = new Set([...(await read('/metrics')).matchAll(/route="([^"]*)"/g)].map(([, route = '']) => route));
    return [...measured].filter((route) => ![...known].some((path) => route.endsWith(path)));
  };
  const Receipt = { Number: 'A-7', Items: [{ Name: 'Bread', Quantity: 2, Price: 12.5 }] };
  const residentBefore = residentMb();
  const took: number[] = [];
  let isOver = false;
  const neighbour = (async () => {
    while (!isOver) {
      const startedAt = performance.now();
      const { errorCode, errorMessage } = await till.post('/Invoice/Create', { Receipt });
      took.push(performance.now() - startedAt);
      if (errorCode !== 0) throw new Error(`A good caller beside the fuzz was told ${errorCode} ${errorMessage}.`);
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  })();
  // Heard at the end, with everything else.
  neighbour.catch(() => {});

  return {
    async end({ neighbourMs, growthMb }) {
      isOver = true;
      await neighbour;
      const watched: Watched = {
        neighbourCalls: took.length,
        slowestNeighbourMs: Math.round(Math.max(...took)),
        grownMb: Math.round(residentMb() - residentBefore),
        unknownRoutes: await unknownRoutes(),
      };
      const broken = [
        ...(watched.slowestNeighbourMs > neighbourMs ? [`a good caller waited ${watched.slowestNeighbourMs} ms`] : []),
        ...(watched.grownMb > growthMb ? [`the gateway grew by ${watched.grownMb} MB`] : []),
        ...(watched.unknownRoutes.length > 20 ? [`the metrics keep what callers invent: ${watched.unknownRoutes.join(' ')}`] : []),
      ];
      if (broken.length > 0) throw new Error(`Every answer had its envelope, but ${broken.join(', and ')}. ${JSON.stringify(watched)}`);
      return watched;
    },
  };
}
