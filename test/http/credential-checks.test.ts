// Pending credential look-ups: each request is answered once, whatever its look-up returns later.
import type { FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import { createCredentialChecks } from '../../src/http/credential-checks.ts';

it('refuses the request that has waited longest, and answers none twice', async () => {
  const lookUps: PromiseWithResolvers<void>[] = [];
  const line = createCredentialChecks(2);
  const told: [string, string][] = [];
  function come(name: string): void {
    const lookUp = Promise.withResolvers<void>();
    lookUps.push(lookUp);
    line.judge({} as FastifyRequest, lookUp.promise, (error) => told.push([name, error?.message ?? 'good']));
  }
  for (const name of ['first', 'second', 'third', 'fourth']) come(name);
  const turnedAway = 'Too many credentials are being looked up.';
  expect(told).toEqual([
    ['first', turnedAway],
    ['second', turnedAway],
  ]);
  for (const [at, lookUp] of lookUps.entries())
    if (at % 2 === 0) lookUp.resolve();
    else lookUp.reject(new Error('wrong'));
  await new Promise((resolve) => setImmediate(resolve));
  expect(told.slice(2)).toEqual([
    ['third', 'good'],
    ['fourth', 'wrong'],
  ]);
  // Both have released their slots.
  come('fifth');
  come('sixth');
  expect(told).toHaveLength(4);
});
