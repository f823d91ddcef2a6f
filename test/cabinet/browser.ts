// A browser in miniature: keeps the session cookie, sends the cabinet's header, and nothing else by itself.
export interface Answer {
  [field: string]: unknown;
  status: number;
  errorCode: number;
  errorMessage: string;
  setCookie: string | null;
}

export interface Browser {
  cookie: string | undefined;
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
        ...(browser.cookie === undefined ? {} : { cookie: `tillgate_session=${browser.cookie}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const setCookie = response.headers.get('set-cookie');
    if (setCookie !== null) browser.cookie = /^tillgate_session=([^;]*)/.exec(setCookie)?.[1] || undefined;
    return { setCookie, ...((await response.json()) as Omit<Answer, 'status' | 'setCookie'>), status: response.status } as Answer;
  }
  const browser: Browser = {
    cookie: undefined,
    call,
    get: (path) => call('GET', path),
    post: (path, body) => call('POST', path, body),
    patch: (path, body) => call('PATCH', path, body),
    delete: (path) => call('DELETE', path),
  };
  return browser;
}
