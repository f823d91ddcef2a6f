// tillgate-client: all calls of a Tillgate gateway, with repeats that never do anything twice, and the check of its callbacks.
export { type CallbackToVerify, type GenuineCallback, verifyCallback } from './callbacks.ts';
export { type ClientOptions, createTillgate, type KeyOptions, type ScannedInvoice, type Tillgate } from './client.ts';
export * from './types.ts';
