// The caller of a request, after its key or credential was verified [D8, D10].

export type Module = 'POS' | 'QR' | 'Fiscal';

export interface Caller {
  merchantId: string;
  keyId: string;
  modules: ReadonlySet<Module>;
  /** The merchant's share of the request slots, if an operator has set one. */
  sharePercent?: number | undefined;
}

export interface DeviceCaller {
  deviceId: string;
  merchantId: string;
  sharePercent?: number | undefined;
}
