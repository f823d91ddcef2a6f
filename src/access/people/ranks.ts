// The roles that a user may have, and who may grant them: no role above one's own or outside one's merchant. Pure functions.
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
  /** A viewer of all merchants must be requested explicitly. */
  allMerchants?: boolean | undefined;
}

/** Throws Invalid_Request if the role and the merchant are inconsistent. */
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

/** Throws unless the viewer may grant this role, or act on a user who has it. */
export function requireRank(viewer: Viewer, standing: Standing): void {
  const isAllowed =
    viewer.role === 'operator' || (viewer.role === 'merchant' && standing.role !== 'operator' && standing.merchantId === viewer.merchantId);
  if (!isAllowed) {
    throw new GatewayError('API_Key_Wrong_Product', 'You cannot grant a role above your own or outside your merchant.', {
      httpStatus: 403,
    });
  }
}
