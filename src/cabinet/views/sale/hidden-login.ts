// A CallbackURI may carry the ERP's user and password; the gateway needs them to call, people who look at lists do not.

/** The URL, or template of one, with stars in the place of its login. */
export function hideLogin(url: string): string {
  return url.replace(/^(https?:\/\/)[^/?#]*@/i, '$1***@');
}
