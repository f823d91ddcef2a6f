// The package brings no types; this is the part that tests use.
declare module 'pngjs' {
  export const PNG: {
    sync: { read(bytes: Uint8Array, options?: { checkCRC?: boolean }): { width: number; height: number; data: Uint8Array } };
  };
}
