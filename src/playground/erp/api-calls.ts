// The till's calls to the gateway: the public API over real HTTP, with the demo key. Each call is recorded with its request and answer.
// The key is sent and never shown: records contain $KEY instead. The list and its texts are short.
import type { ApiCallView } from '../../cabinet/playground/view-schema.ts';
import type { Clock } from '../../kernel/clock.ts';

export interface ApiAnswer {
  /** -1: no answer, or one without an envelope. */
  errorCode: number;
  errorMessage: string;
  OID?: string;
  QR?: string;
  /** The device's report, parsed. */
  report: Record<string, unknown>;
}

export interface ApiCallRequest {
  label: string;
  /** The sale of the call. */
  saleId: string;
  method: 'GET' | 'POST';
  path: string;
  body?: Record<string, unknown>;
  idempotencyKey?: string;
  /** Handles the answer, also that to a repeat. */
  received(answer: ApiAnswer): void;
}

export type ApiCalls = ReturnType<typeof createApiCalls>;

export interface ApiCallsDeps {
  baseUrl: string;
  apiKey: string;
  clock: Clock;
  onChange(): void;
}

export const noAnswer = -1;
const kept = 30;
const maxTextLength = 2_000;
/** Slightly longer than the longest time-out of the gateway. */
const patienceMs = 6 * 60_000;

export function createApiCalls({ baseUrl, apiKey, clock, onChange }: ApiCallsDeps) {
  let calls: ApiCallView[] = [];
  let count = 0;
  let last: ApiCallRequest | undefined;
  const stopping = new AbortController();

  function note(call: Omit<ApiCallView, 'id' | 'at'>): (outcome: Partial<ApiCallView>) => void {
    count += 1;
    const id = count;
    const startedAtMs = clock.elapsed();
    calls = [{ id, at: new Date(clock.now()).toISOString(), ...call }, ...calls].slice(0, kept);
    onChange();
    return (outcome) => {
      const tookMs = Math.round(clock.elapsed() - startedAtMs);
      calls = calls.map((one) => (one.id === id ? { ...one, ...outcome, tookMs } : one));
      onChange();
    };
  }

  async function send(request: ApiCallRequest): Promise<ApiAnswer> {
    const { label, method, path, body, idempotencyKey } = request;
    // A repeat must not replace the call that it repeats.
    if (label !== 'again') last = request;
    const headers = {
      ...(method === 'POST' ? { 'Content-Type': 'application/json' } : { 'X-API-Key': '$KEY' }),
      ...(idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }),
    };
    const shownBody = body && { APIKey: '$KEY', ...body };
    const ended = note({
      label,
      method,
      path,
      headers,
      ...(shownBody ? { body: shownBody } : {}),
      curl: curlOf(`${baseUrl}${path}`, method, headers, shownBody),
    });
    const answer = await exchange(`${baseUrl}${path}`, {
      method,
      headers: method === 'POST' ? headers : { ...headers, 'X-API-Key': apiKey },
      ...(body ? { body: JSON.stringify({ APIKey: apiKey, ...body }) } : {}),
      signal: AbortSignal.any([stopping.signal, AbortSignal.timeout(patienceMs)]),
    });
    ended(answer.shown);
    request.received(answer.read);
    onChange();
    return answer.read;
  }

  return {
    /** Never rejects. */
    send,
    /** The last of the till's own calls. */
    last: () => last,
    /** A fetch that records the calls of a device. */
    fetchAs: (label: string) => async (address: string, init?: RequestInit) => {
      const path = address.startsWith(baseUrl) ? address.slice(baseUrl.length) : address;
      const headers = { Authorization: 'Basic $DEVICE' };
      const ended = note({ label, method: 'GET', path, headers, curl: curlOf(address, 'GET', headers, undefined) });
      try {
        const response = await fetch(address, init);
        ended({ status: response.status, answer: shortened(await readObject(response.clone())) });
        return response;
      } catch (error) {
        ended({});
        throw error;
      }
    },
    /** Newest first. */
    views: () => calls,
    stop: () => stopping.abort(),
  };
}

async function exchange(url: string, init: RequestInit): Promise<{ read: ApiAnswer; shown: Partial<ApiCallView> }> {
  try {
    const response = await fetch(url, init);
    const answer = await readObject(response);
    const { errorCode, errorMessage, OID, QR, report } = answer;
    const read: ApiAnswer = {
      errorCode: typeof errorCode === 'number' ? errorCode : noAnswer,
      errorMessage: typeof errorMessage === 'string' ? errorMessage : '',
      ...(typeof OID === 'string' ? { OID } : {}),
      ...(typeof QR === 'string' ? { QR } : {}),
      report: readReport(report),
    };
    return { read, shown: { status: response.status, answer: shortened(answer) } };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { read: { errorCode: noAnswer, errorMessage: `No answer: ${why}`, report: {} }, shown: {} };
  }
}

async function readObject(response: Response): Promise<Record<string, unknown>> {
  const value: unknown = await response.json();
  return value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : {};
}

function readReport(report: unknown): Record<string, unknown> {
  try {
    return typeof report === 'string' ? (JSON.parse(report) as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Shortens a picture in Base64, which is not readable. */
function shortened(answer: Record<string, unknown>): Record<string, unknown> {
  const short = (value: unknown) => (typeof value === 'string' && value.length > 500 ? `${value.slice(0, 60)}…` : value);
  return Object.fromEntries(Object.entries(answer).map(([name, value]) => [name, short(value)]));
}

function curlOf(url: string, method: string, headers: Record<string, string>, body: Record<string, unknown> | undefined): string {
  const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
  // $KEY and $DEVICE, which the shell expands, are outside the single quotes.
  const open = (text: string) => quoted(text).replace(/\$(KEY|DEVICE)/, `'"$$$1"'`);
  const lines = [
    `curl${method === 'GET' ? '' : ` -X ${method}`} ${quoted(url)}`,
    ...Object.entries(headers).map(([name, value]) => `  -H ${open(`${name}: ${value}`)}`),
    ...(body ? [`  -d ${open(JSON.stringify(body))}`] : []),
  ];
  const text = lines.join(' \\\n');
  return text.length > maxTextLength ? `${text.slice(0, maxTextLength)}…` : text;
}
