// Masks the user and password in a CallbackURI: the gateway needs them, viewers of the cabinet do not.

/** The URL, or URL template, with stars instead of its login. */
export function hideLogin(url: string): string {
  return url.replace(/^(https?:\/\/)[^/?#]*@/i, '$1***@');
}
