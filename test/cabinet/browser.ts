// A minimal browser: keeps the cookies of the cabinet and sends its header.
export interface Answer {
  [field: string]: unknown;
  status: number;
  errorCode: number;
  errorMessage: string;
  setCookie: string | null;
}

export interface Browser {
  /** The session cookie. */
  cookie: string | undefined;
  /** The cookie of a browser in which a user has signed in before. */
  known: string | undefined;
  get(path: string): Promise<Answer>;
  post(path: string, body?: object): Promise<Answer>;
  patch(path: string, body: object): Promise<Answer>;
  delete(path: string): Promise<Answer>;
  call(method: string, path: string, body?: object): Promise<Answer>;
}

export function openBrowser(url: string): Browser {
  async function call(method: string, path: string, body?: object): Promise<Answer> {
    const response = await fetch(`${url}/cabinet/api${path}`, {
      method,
      headers: {
        'x-tillgate-request': '1',
        cookie: [
          ...(browser.cookie === undefined ? [] : [`tillgate_session=${browser.cookie}`]),
          ...(browser.known === undefined ? [] : [`tillgate_browser=${browser.known}`]),
        ].join('; '),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const cookies = response.headers.getSetCookie();
    const setCookie = cookies.find((one) => one.startsWith('tillgate_session=')) ?? null;
    if (setCookie !== null) browser.cookie = /^tillgate_session=([^;]*)/.exec(setCookie)?.[1] || undefined;
    browser.known = cookies.flatMap((one) => /^tillgate_browser=([^;]+)/.exec(one)?.[1] ?? [])[0] ?? browser.known;
    return { setCookie, ...((await response.json()) as Omit<Answer, 'status' | 'setCookie'>), status: response.status } as Answer;
  }
  const browser: Browser = {
    cookie: undefined,
    known: undefined,
    call,
    get: (path) => call('GET', path),
    post: (path, body) => call('POST', path, body),
    patch: (path, body) => call('PATCH', path, body),
    delete: (path) => call('DELETE', path),
  };
  return browser;
}
