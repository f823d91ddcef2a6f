// Who may call what [D8 to D11]. Every route declares its access; a route without one is refused at start.
// The credential is checked after the body is parsed and before any other field: 10 or 11 comes before 40. With a large body the
// credential is checked before the body is parsed [D160].
// Keys, device secrets and tokens have at least 122 bits and cannot be guessed. So wrong ones are not counted against an address, which
// several callers may share; the look-up bounds their cost [D62].
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Caller, DeviceCaller, Module } from '../kernel/callers.ts';
import { GatewayError } from '../kernel/error-codes.ts';
import { parseUuid } from '../kernel/ids.ts';
import { networkOf } from '../kernel/network-of.ts';
import { foldName } from './erp-fields.ts';
import { shortName } from './json-body.ts';
import { type EarlyVerdict, findGoodKey } from './large-bodies.ts';
import { createNotes } from './notes.ts';
import { factsOf } from './request-facts.ts';
import { createRequestRates, type RequestRates, type RequestRatesOptions } from './request-rates.ts';
import type { Owner } from './request-slots.ts';
import { readCookie, requireOwnPage } from './session-cookie.ts';
import { noteStraySecrets } from './stray-secrets.ts';
import { adminViewer, optionalViewerOf, type Role, setViewer, type Viewer } from './viewer.ts';

export type Access =
  | { kind: 'key'; modules: readonly Module[] }
  | { kind: 'optionalKey'; module: Module; isRequired: boolean }
  | CabinetAccess
  | { kind: 'metrics' }
  | { kind: 'open' };

/** A row of the table in cabinet/roles.ts. */
export interface CabinetAccess {
  kind: 'cabinet';
  /** The operationId: the key of the table. */
  call: string;
  who: readonly Role[] | 'public';
  /** Allowed only shortly after the user entered the password or a one-time code. */
  isConfirmed: boolean;
  /** Also open to operators who have not yet set up the one-time codes that this gateway requires. */
  isBeforeTotp?: boolean;
}

/** A key that opens at least one of the modules. */
export function keyFor(...modules: [Module, ...Module[]]): Access {
  return { kind: 'key', modules };
}

/** The key may be absent unless `isRequired`; if present it must be valid. The Basic credential of a device is accepted as well [D10]. */
export function optionalKey(module: Module, isRequired: boolean): Access {
  return { kind: 'optionalKey', module, isRequired };
}

/** The admin token, or one that opens nothing else. */
export const metricsOnly: Access = { kind: 'metrics' };
export const open: Access = { kind: 'open' };
/** A signed-in user, or the admin token: for pages outside the cabinet's API. */
export const signedIn: Access = { kind: 'cabinet', call: 'readApiReference', who: ['operator', 'merchant', 'viewer'], isConfirmed: false };

/** Such routes need no credential, or receive it where no large body is sent. */
export function takesSmallBodiesOnly(access: Access): boolean {
  return access.kind === 'cabinet' ? access.who === 'public' : access.kind !== 'key';
}

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
    /** An event stream: it is neither counted as a request in flight nor waited for when the gateway stops. */
    isLongLived?: boolean;
    /** Successes are logged at debug: probes, scrapes and the login checks of brokers. */
    logsSuccessAtDebug?: boolean;
    /** A page or its resources: the Host header must name one of our hosts. The cabinet's API is always checked. */
    isForBrowsers?: boolean;
    /** Answers every otherwise unknown path below its own; such a path still counts as unknown. */
    isFallback?: boolean;
  }
}

export interface AccessOptions extends RequestRatesOptions {
  findCaller: (apiKey: string) => Promise<Caller | undefined>;
  findDevice: (deviceId: string, secret: string) => Promise<DeviceCaller | undefined>;
  /** Called for every request with this key. */
  onKeyUsed?: ((keyId: string) => void) | undefined;
  isAdminToken: (token: string) => boolean;
  isMetricsToken?: ((token: string) => boolean) | undefined;
  /** A wrong admin token was sent from this address (its network). */
  onFailedLogin?: ((failed: { address: string }) => void) | undefined;
  /** The user of a session token from the cookie. Called only without a bearer token. */
  findSession?: ((token: string, isInUse: boolean) => Promise<Viewer | undefined>) | undefined;
  /** Part of the cookies' names and paths. */
  basePath: string;
  /** The public {base_url}: its host counts as ours, even if a proxy rewrites the header Host. */
  publicUrl?: string | undefined;
}

interface Identity {
  caller?: Caller;
  device?: DeviceCaller;
  /** A helper program, such as a broker's authentication plug-in. */
  helper?: string;
}

const identities = createNotes<FastifyRequest, Identity>();

/** The key's owner, on routes with `keyFor`. */
export function callerOf(request: FastifyRequest): Caller {
  const caller = identities.of(request)?.caller;
  if (caller === undefined) throw new Error('callerOf on a route that accepts requests without a key');
  return caller;
}

export function optionalCallerOf(request: FastifyRequest): Caller | undefined {
  return identities.of(request)?.caller;
}

export function deviceCallerOf(request: FastifyRequest): DeviceCaller | undefined {
  return identities.of(request)?.device;
}

/** For a route whose address is a secret: its caller counts as authenticated. Called before the body is read. */
export function knownAs(request: FastifyRequest, helper: string): void {
  identities.set(request, { helper });
}

/** Pages need few slots, for a short time. */
const usersPercent = 20;

/**
 * The owner of the slot that the request takes; undefined without a credential. Requests of a device count for its merchant. The users
 * of a merchant count apart from its keys, so that they can still use the cabinet during a flood of calls. They share one bound: with
 * one each, a few users who do not read their answers would take every slot.
 */
export function ownerOf(request: FastifyRequest): Owner | undefined {
  const { caller, device, helper } = identities.of(request) ?? {};
  if (caller !== undefined) return { name: `merchant ${caller.merchantId}`, sharePercent: caller.sharePercent };
  if (device !== undefined) return { name: `merchant ${device.merchantId}`, sharePercent: device.sharePercent };
  if (helper !== undefined) return { name: helper };
  const viewer = optionalViewerOf(request);
  if (viewer === undefined) return undefined;
  const name = viewer.merchantId === undefined ? `person ${viewer.userId ?? viewer.actor}` : `people of ${viewer.merchantId}`;
  return { name, sharePercent: usersPercent };
}

/** Compares in constant time. No token configured: nothing matches. */
export function createTokenCheck(token: string | undefined): (candidate: string) => boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  const expected = token === undefined || token === '' ? undefined : digest(token);
  return (candidate) => expected !== undefined && timingSafeEqual(expected, digest(candidate));
}

interface PresentedKey {
  key: unknown;
  /** A field that was probably meant to be APIKey. */
  misspelt: string | undefined;
}

/**
 * The key as presented: the field of the query (GET) or of the body (POST) first, then the header [D9]. Empty counts as absent.
 * The field is removed, so that later code cannot store or log the key; so is a misspelt field with the same key. A misspelt field
 * with another value stays, and `readErpFields` refuses it [D144].
 */
function takeKey(request: FastifyRequest): PresentedKey {
  const source = (request.method === 'GET' ? request.query : request.body) as Record<string, unknown> | null | undefined;
  let field: unknown;
  let misspelt: string | undefined;
  if (source !== null && typeof source === 'object') {
    if (Object.hasOwn(source, 'APIKey')) {
      field = source['APIKey'];
      delete source['APIKey'];
    }
    for (const name of Object.keys(source)) {
      if (foldName(name) !== 'apikey') continue;
      if (field !== undefined && source[name] === field) delete source[name];
      else misspelt ??= shortName(name);
    }
  }
  const key = field === undefined || field === null || field === '' ? request.headers['x-api-key'] : field;
  return { key: key === '' ? undefined : key, misspelt };
}

function credentialIn(header: string | undefined, scheme: 'basic' | 'bearer'): string | undefined {
  const [name, value] = (header ?? '').split(/ +/, 2);
  return name?.toLowerCase() === scheme ? (value ?? '') : undefined;
}

/** DeviceID and secret from HTTP Basic; undefined if the text is malformed. */
function parseBasic(encoded: string): { deviceId: string; secret: string } | undefined {
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const deviceId = parseUuid(text.slice(0, Math.max(colon, 0)));
  return deviceId === undefined ? undefined : { deviceId, secret: text.slice(colon + 1) };
}

/** For WebSockets: an upgrade request does not pass through Fastify. */
export function createUpgradeLogin(findDevice: AccessOptions['findDevice']): (authorization: string | undefined) => Promise<DeviceCaller> {
  return async (authorization) => {
    const encoded = credentialIn(authorization, 'basic');
    if (encoded === undefined) throw new GatewayError('Invalid_API_Key', 'Authorization must be Basic with DeviceID and secret.');
    const credential = parseBasic(encoded);
    const device = credential && (await findDevice(credential.deviceId, credential.secret));
    if (device === undefined) throw wrongCredential();
    return device;
  };
}

function wrongCredential(): GatewayError {
  return new GatewayError('Invalid_API_Key', 'The device credential in Authorization is wrong.');
}

function requireModule(caller: Caller, modules: readonly Module[]): void {
  if (modules.some((module) => caller.modules.has(module))) return;
  throw new GatewayError('API_Key_Wrong_Product', `APIKey does not open the module ${modules.join(' or ')}.`);
}

export function createAccessJudge(options: AccessOptions) {
  const verdicts = createNotes<FastifyRequest, EarlyVerdict>();
  const rates = createRequestRates(options);

  async function judgeKey(request: FastifyRequest, presented: unknown, modules: readonly Module[]): Promise<Caller> {
    const facts = factsOf(request);
    if (typeof presented === 'string') facts.presentedSecrets.push(presented);
    const key = parseUuid(presented);
    if (key === undefined) throw new GatewayError('Invalid_API_Key', 'APIKey must be a UUID.');
    facts.presentedSecrets.push(key);
    const caller = await options.findCaller(key);
    if (caller === undefined) throw new GatewayError('Invalid_API_Key', 'APIKey is unknown, expired or revoked.');
    facts.merchantId = caller.merchantId;
    options.onKeyUsed?.(caller.keyId);
    rates.countKey(caller);
    requireModule(caller, modules);
    return caller;
  }

  async function findViewer(request: FastifyRequest): Promise<Viewer | undefined> {
    const bearer = credentialIn(request.headers.authorization, 'bearer');
    if (bearer !== undefined) {
      factsOf(request).presentedSecrets.push(bearer);
      if (options.isAdminToken(bearer)) return adminViewer;
      options.onFailedLogin?.({ address: networkOf(request.ip) });
      throw notSignedIn('The admin token in Authorization is wrong.');
    }
    const token = readCookie(request, options, 'session');
    if (token === undefined || options.findSession === undefined) return undefined;
    factsOf(request).presentedSecrets.push(token);
    // A page without user input for minutes sends this header: its polling must not keep the session alive.
    return options.findSession(token, request.headers['x-tillgate-idle'] !== '1');
  }

  /** Checks in this order: the user, the origin of the call, the role, and a recent confirmation. */
  async function judgeViewer(request: FastifyRequest, { who, isConfirmed, isBeforeTotp }: CabinetAccess): Promise<void> {
    const viewer = await findViewer(request);
    if (viewer === undefined && who !== 'public') throw notSignedIn('Sign in to the cabinet, or send the admin token as Bearer.');
    if (viewer !== undefined) setViewer(request, viewer);
    if (viewer !== adminViewer && request.method !== 'GET') requireOwnPage(request, options.publicUrl);
    if (viewer === undefined) return;
    if (viewer.merchantId !== undefined) factsOf(request).merchantId = viewer.merchantId;
    rates.countViewer(viewer);
    if (who === 'public') return;
    if (!who.includes(viewer.role)) {
      throw new GatewayError('API_Key_Wrong_Product', 'Your role does not allow this.', { httpStatus: 403 });
    }
    if (viewer.needsTotp === true && isBeforeTotp !== true) {
      const sentence = 'Operators need one-time codes on this gateway: set them up first, in your account.';
      throw new GatewayError('API_Key_Wrong_Product', sentence, { httpStatus: 403, fields: { needsTotp: true } });
    }
    if (isConfirmed && options.clock.elapsed() >= viewer.confirmedUntilMs) {
      throw new GatewayError('Invalid_API_Key', 'Enter your password or a code again: this needs a recent confirmation.', {
        httpStatus: 403,
        fields: { needsConfirmation: true },
      });
    }
  }

  /** For a large body: throws unless a valid credential comes with it. `judge` does not count the request again. */
  async function judgeUnparsed(request: FastifyRequest, access: Access, body: Buffer): Promise<void> {
    if (access.kind === 'cabinet') {
      await judgeViewer(request, access);
      verdicts.set(request, {});
    } else if (access.kind === 'key')
      verdicts.set(request, await findGoodKey(request, body, (key) => judgeKey(request, key, access.modules)));
  }

  async function judge(request: FastifyRequest, access: Access): Promise<void> {
    const early = verdicts.of(request);
    if (access.kind === 'open') return;
    if (access.kind === 'metrics') return judgeMetrics(options, request);
    if (access.kind === 'cabinet') return early === undefined ? judgeViewer(request, access) : undefined;
    const { key: presented, misspelt } = takeKey(request);
    const butSent = misspelt === undefined ? '' : `; ${misspelt} was sent`;
    if (access.kind === 'key') {
      if (presented === undefined) throw new GatewayError('Invalid_API_Key', `APIKey is missing${butSent}.`);
      const known = early?.key !== undefined && early.key === parseUuid(presented) ? early.caller : undefined;
      const caller = known ?? (await judgeKey(request, presented, access.modules));
      await noteStraySecrets(request, options.findCaller);
      identities.set(request, { caller });
      return;
    }
    const identity: Identity = {};
    if (presented !== undefined) identity.caller = await judgeKey(request, presented, [access.module]);
    const encoded = credentialIn(request.headers.authorization, 'basic');
    if (encoded !== undefined) {
      const device = await findDevice(options, rates, request, encoded);
      // Generated clients send a credential for every scheme: a wrong one is ignored beside a valid key [D147].
      if (device === undefined && identity.caller === undefined) throw wrongCredential();
      if (device !== undefined) identity.device = device;
    }
    if (access.isRequired && identity.caller === undefined && identity.device === undefined) {
      throw new GatewayError('Invalid_API_Key', `APIKey or a device credential is needed${butSent}.`);
    }
    identities.set(request, identity);
  }

  return { judge, judgeUnparsed };
}

function judgeMetrics(options: AccessOptions, request: FastifyRequest): void {
  const token = credentialIn(request.headers.authorization, 'bearer');
  if (token !== undefined) {
    factsOf(request).presentedSecrets.push(token);
    if (options.isAdminToken(token) || options.isMetricsToken?.(token) === true) return;
  }
  const sentence = 'Authorization must be Bearer with the metrics token or the admin token.';
  throw new GatewayError('Invalid_API_Key', sentence, { httpStatus: 401 });
}

async function findDevice(
  options: AccessOptions,
  rates: RequestRates,
  request: FastifyRequest,
  encoded: string,
): Promise<DeviceCaller | undefined> {
  const facts = factsOf(request);
  facts.presentedSecrets.push(encoded);
  const credential = parseBasic(encoded);
  if (credential !== undefined) facts.presentedSecrets.push(credential.secret);
  const device = credential && (await options.findDevice(credential.deviceId, credential.secret));
  if (device === undefined) return undefined;
  facts.merchantId = device.merchantId;
  rates.countDevice(device);
  return device;
}

function notSignedIn(sentence: string): GatewayError {
  return new GatewayError('Invalid_API_Key', sentence, { httpStatus: 401 });
}
