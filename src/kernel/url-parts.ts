// Parts of addresses that the gateway shows or hands out.

/** The host as part of a URL: an IPv6 address in brackets. */
export function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** A broker's URL for devices, without the gateway's own user and password. */
export function withoutLogin(address: string): string {
  const url = new URL(address);
  url.username = '';
  url.password = '';
  return url.href;
}
