// Which role somebody may have, and who may give it: nobody gives one above their own or outside their merchant. Pure.
import type { Role, Viewer } from '../../http/viewer.ts';
import { GatewayError, invalidRequest } from '../../kernel/error-codes.ts';

export interface Standing {
  role: Role;
  /** Null: all merchants. */
  merchantId: string | null;
}

export interface WantedStanding {
  role: Role;
  merchantId?: string | undefined;
  /** A viewer of everything, said in so many words. */
  allMerchants?: boolean | undefined;
}

/** Throws Invalid_Request when role and merchant do not fit together. */
export function standingOf({ role, merchantId, allMerchants = false }: WantedStanding): Standing {
  if (role === 'operator') {
    if (merchantId !== undefined) throw invalidRequest('merchantId must be absent: an operator sees all merchants.');
    return { role, merchantId: null };
  }
  if (role === 'viewer' && allMerchants) {
    if (merchantId !== undefined) throw invalidRequest('merchantId must be absent when allMerchants is true.');
    return { role, merchantId: null };
  }
  if (allMerchants) throw invalidRequest('allMerchants goes with the role viewer only.');
  if (merchantId === undefined) throw invalidRequest('merchantId is missing.');
  return { role, merchantId };
}

/** Whether they may make somebody this, or act on somebody who is this. */
export function requireRank(viewer: Viewer, standing: Standing): void {
  const isAllowed =
    viewer.role === 'operator' || (viewer.role === 'merchant' && standing.role !== 'operator' && standing.merchantId === viewer.merchantId);
  if (!isAllowed) {
    throw new GatewayError('API_Key_Wrong_Product', 'Nobody gives a role above their own, or outside their merchant.', { httpStatus: 403 });
  }
}
