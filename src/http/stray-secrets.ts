// Secrets in unknown fields of a call [D163]: `apiKey` beside the key in the header, a key of another module, a password of the ERP.
// They are masked before the call is stored and shown in the cabinet.
import type { FastifyRequest } from 'fastify';
import type { Caller } from '../kernel/callers.ts';
import { parseUuid } from '../kernel/ids.ts';
import { foldName } from './erp-fields.ts';
import { factsOf } from './request-facts.ts';

const secretName = /apikey|token|secret|passw|authorization|credential/;
/** Look-ups per call: an unknown field with a UUID is rare. */
const maxLookUps = 3;

/** Adds secrets in top-level fields that the route's schema does not name to the caller's presented secrets. */
export async function noteStraySecrets(
  request: FastifyRequest,
  findCaller: (apiKey: string) => Promise<Caller | undefined>,
): Promise<void> {
  const { body } = request;
  if (typeof body !== 'object' || body === null) return;
  const schema = request.routeOptions.schema as { body?: { properties?: object } } | undefined;
  const known = schema?.body?.properties ?? {};
  const { presentedSecrets } = factsOf(request);
  let lookUps = 0;
  for (const [name, value] of Object.entries(body)) {
    if (typeof value !== 'string' || Object.hasOwn(known, name)) continue;
    const uuid = parseUuid(value);
    if (secretName.test(foldName(name))) presentedSecrets.push(value);
    else if (uuid !== undefined && lookUps < maxLookUps) {
      lookUps += 1;
      if ((await findCaller(uuid)) !== undefined) presentedSecrets.push(uuid);
    }
  }
}
