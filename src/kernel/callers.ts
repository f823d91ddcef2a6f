// Who a request comes from, once its key or credential was found good [D8, D10].

export type Module = 'POS' | 'QR' | 'Fiscal';

export interface Caller {
  merchantId: string;
  keyId: string;
  modules: ReadonlySet<Module>;
  /** Of the slots for requests, if an operator set one for the merchant. */
  sharePercent?: number | undefined;
}

export interface DeviceCaller {
  deviceId: string;
  merchantId: string;
  sharePercent?: number | undefined;
}
