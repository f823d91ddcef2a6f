// An ERP's side of the API over real HTTP, without the time-outs of fetch: a Pay may take minutes.
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { selfSigned } from '../http/self-signed.ts';
import { patienceMs } from './gateway-process.ts';

export interface Answer {
  [field: string]: unknown;
  status: number;
  errorCode: number;
  errorMessage: string;
  report?: string;
}

export interface Till {
  readonly baseUrl: string;
  get(path: string, query?: Record<string, string>, headers?: Record<string, string>): Promise<Answer>;
  /** The key goes into the body. */
  post(path: string, body?: object, headers?: Record<string, string>): Promise<Answer>;
  /** The cabinet API, below /cabinet/api. */
  admin(path: string, body?: object): Promise<Answer>;
  /** Hears how a Pay stands as soon as the gateway answers, whatever happens to the gateway meanwhile. */
  tryPost(path: string, body: object): Promise<Answer | undefined>;
  /** Hangs up as soon as the request has left: resolves then. */
  postAndHangUp(path: string, body: object): Promise<void>;
}

function parse(text: string): Answer | undefined {
  try {
    return JSON.parse(text) as Answer;
  } catch {
    return undefined;
  }
}

function send(url: string, method: string, headers: Record<string, string>, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const dial = url.startsWith('https:') ? httpsRequest : httpRequest;
    const options = { method, headers: { ...headers, connection: 'close' }, ca: selfSigned.cert };
    const request = dial(url, options, (response: IncomingMessage) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('error', reject);
      response.on('end', () => {
        const body = parse(text);
        if (body) resolve({ ...body, status: response.statusCode ?? 0 });
        else reject(new Error(`${method} ${url} answered no JSON: ${text.slice(0, 200)}`));
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}

export function createTill({ baseUrl, apiKey, adminToken }: { baseUrl: string; apiKey: string; adminToken: string }): Till {
  const json = { 'content-type': 'application/json' };
  const post = (path: string, body: object = {}, headers: Record<string, string> = {}) =>
    send(`${baseUrl}${path}`, 'POST', { ...json, ...headers }, JSON.stringify({ APIKey: apiKey, ...body }));
  return {
    baseUrl,
    get: (path, query = {}, headers = {}) =>
      send(`${baseUrl}${path}?${new URLSearchParams({ APIKey: apiKey, ...query }).toString()}`, 'GET', headers),
    post,
    admin: (path, body) => {
      const authorization = { authorization: `Bearer ${adminToken}` };
      const url = `${baseUrl}/cabinet/api${path}`;
      return body === undefined ? send(url, 'GET', authorization) : send(url, 'POST', { ...authorization, ...json }, JSON.stringify(body));
    },
    tryPost: (path, body) => post(path, body).catch(() => undefined),
    postAndHangUp: (path, body) =>
      new Promise((resolve) => {
        const request = httpRequest(`${baseUrl}${path}`, { method: 'POST', headers: json });
        request.on('error', () => {});
        request.on('close', () => resolve());
        request.on('finish', () => request.destroy());
        request.end(JSON.stringify({ APIKey: apiKey, ...body }));
      }),
  };
}

export function reportOf(answer: Answer): Record<string, any> {
  if (answer.report === undefined) throw new Error(`No report in ${JSON.stringify(answer)}`);
  return JSON.parse(answer.report) as Record<string, any>;
}

/** Asks until the answer is as wished; for what has no event that a test could wait for. */
export async function eventually<Value>(
  what: string,
  ask: () => Promise<Value> | Value,
  isRight: (value: Value) => boolean,
  withinMs = patienceMs,
): Promise<Value> {
  const endsAt = performance.now() + withinMs;
  let last: unknown;
  for (;;) {
    const askedAt = performance.now();
    try {
      const value = await ask();
      if (isRight(value)) return value;
      last = value;
    } catch (error) {
      last = error;
    }
    if (performance.now() > endsAt) {
      const shown = last instanceof Error ? String(last) : JSON.stringify(last);
      throw new Error(`Not within ${withinMs} ms: ${what}. Last seen: ${shown}`);
    }
    // A question that costs much is asked more seldom.
    const pauseMs = Math.max(50, 6 * (performance.now() - askedAt));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
