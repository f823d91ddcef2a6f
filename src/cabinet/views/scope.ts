// Whose rows a view may show: one merchant's, or everybody's. The first argument of every query, so that none can forget it.

export interface Scope {
  /** Undefined: of all merchants. */
  readonly merchantId: string | undefined;
}
