// A test callback for an address: signed, guarded and bounded like a real one, sent once, stored nowhere.
// Invariant: only a few run at once, one per merchant, so that tests never delay real callbacks.
import type { Database } from '../database/database.ts';
import type { Clock } from '../kernel/clock.ts';
import { GatewayError, invalidRequest } from '../kernel/error-codes.ts';
import { createRateLimiter } from '../kernel/rate-limiter.ts';
import type { AttemptResult, Send } from './sender.ts';
import { readSigningSecrets } from './signing-secrets.ts';
import { expandTemplate } from './template.ts';

const maxAtOnce = 4;
const perMerchant = { burst: 5, perS: 1 / 5 };
/** The values of the placeholders: an OID that no invoice has, and a state that does not exist. */
const testValues = { OID: '00000000-0000-0000-0000-000000000000', State: 'Test', ReceiptID: '', DeviceID: '' };

export interface TestCallback {
  /** The webhook-id that the ERP sees. */
  id: string;
  merchantId: string;
  template: string;
}

export type SendTest = (callback: TestCallback) => Promise<AttemptResult & { url: string }>;

export function createTestSender(deps: { database: Database; clock: Clock; send: Send }): SendTest {
  const running = new Set<string>();
  const limit = createRateLimiter({ clock: deps.clock, ...perMerchant });
  return async ({ id, merchantId, template }) => {
    const url = expand(template);
    const secrets = await readSigningSecrets(deps.database.queries, merchantId);
    if (running.has(merchantId) || running.size >= maxAtOnce) {
      throw new GatewayError('Too_Many_Requests', 'A test callback is under way; wait for its answer.', { retryAfterS: 1 });
    }
    limit.require(merchantId, 'Too many test callbacks were sent; wait a little.');
    running.add(merchantId);
    try {
      return { url, ...(await deps.send({ id, sequence: 0, url, secrets }, new AbortController().signal)) };
    } finally {
      running.delete(merchantId);
    }
  };
}

/** The API of the test calls the address `url`. */
function expand(template: string): string {
  try {
    return expandTemplate(template, testValues);
  } catch (error) {
    throw error instanceof GatewayError ? invalidRequest(error.message.replace('CallbackURI', 'url')) : error;
  }
}
