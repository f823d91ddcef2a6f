// All calls to the gateway: each goes to this origin, with the session's cookie, and comes back as its fields or as an ApiError.
// A call that needs a fresh confirmation asks for it and is then sent again once, with the same headers, so with the same Idempotency-Key.

export const basePath = document.documentElement.dataset['basePath'] ?? '';
export const apiPath = `${basePath}/cabinet/api`;

export type Query = Record<string, string | number | boolean | undefined>;

export class ApiError extends Error {
  override name = 'ApiError';
  readonly code: number;
  readonly status: number;
  readonly needsConfirmation: boolean;
  /** The operation that holds a busy device. */
  readonly holder: Envelope['holder'];

  constructor(message: string, code: number, status: number, { needsConfirmation = false, holder }: Envelope = {}) {
    super(message);
    this.code = code;
    this.status = status;
    this.needsConfirmation = needsConfirmation;
    this.holder = holder;
  }
}

/** The gateway could not be reached: whether the call was executed is unknown. */
export class ConnectionLost extends Error {
  override name = 'ConnectionLost';
}

let askConfirmation: (() => Promise<boolean>) | undefined;
let onSignedOut: (() => void) | undefined;

/** The shell provides the confirmation dialog, and the reaction to an ended session. */
export function connectClient(hooks: { askConfirmation: () => Promise<boolean>; onSignedOut: () => void }): void {
  ({ askConfirmation, onSignedOut } = hooks);
}

export function addressOf(path: string, query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `${apiPath}${path}${search === '' ? '' : `?${search}`}`;
}

interface Envelope {
  errorCode?: number;
  errorMessage?: string;
  needsConfirmation?: boolean;
  holder?: { id: string; name: string } | undefined;
}

export interface CallOptions {
  query?: Query | undefined;
  body?: object | undefined;
  headers?: Record<string, string> | undefined;
  signal?: AbortSignal | undefined;
}

/** After this long without input, background reads are marked so that they do not extend the session. */
const untouchedMs = 5 * 60_000;
let touchedAtMs = Date.now();
for (const event of ['pointerdown', 'keydown', 'wheel']) addEventListener(event, () => (touchedAtMs = Date.now()), { passive: true });

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

export async function call<Fields>(method: Method, path: string, options: CallOptions = {}): Promise<Fields> {
  try {
    return await send<Fields>(method, path, options);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // Only for 403: a wrong password (401) is reported in the form where it was entered.
    const isAsked = error.needsConfirmation && error.status === 403;
    if (isAsked && askConfirmation && (await askConfirmation())) return send<Fields>(method, path, options);
    if (error.status === 401 && !path.startsWith('/session') && !path.startsWith('/links')) onSignedOut?.();
    throw error;
  }
}

async function send<Fields>(method: Method, path: string, { query, body, headers, signal }: CallOptions): Promise<Fields> {
  let answer: Response;
  try {
    answer = await fetch(addressOf(path, query), {
      method,
      credentials: 'same-origin',
      headers: {
        accept: 'application/json',
        ...(method === 'GET' ? {} : { 'x-tillgate-request': '1' }),
        ...(Date.now() - touchedAtMs < untouchedMs ? {} : { 'x-tillgate-idle': '1' }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ConnectionLost('The gateway cannot be reached.', { cause: error });
  }
  const envelope = (await answer.json().catch(() => ({}))) as Envelope;
  if (!answer.ok || (envelope.errorCode ?? 0) !== 0) {
    const message = envelope.errorMessage ?? `HTTP ${answer.status}`;
    // "Record_not_exist: There is no such command." The sentence alone is for people.
    throw new ApiError(message.replace(/^[A-Za-z_]+: /, ''), envelope.errorCode ?? 1, answer.status, envelope);
  }
  return envelope as Fields;
}
