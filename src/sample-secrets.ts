// Tokens and passwords that are public: those in deploy/ and in the documentation, and what a shell would have put a value for.
// test/sample-secrets.test.ts collects them from the files.

const words = new RegExp(
  [
    'change-?me(?:-too)?',
    'password',
    'secret',
    'token',
    'admin',
    'gateway',
    'example',
    'whsec',
    // The device's in docs/device-protocol.md.
    'Zk1vT3V0c2lkZS1pbnNpZGUtc2VjcmV0LWV4YW1wbGU',
    // Command, parameter and variable of a shell; a file of settings does not replace them.
    '\\$\\([^)]*\\)',
    '\\$\\{[^}]*\\}',
    '\\$[A-Z_]{3,}',
  ].join('|'),
  'gi',
);

/** Nothing but samples, once or repeated; empty: nothing is set. */
export function isSampleSecret(text: string): boolean {
  return text !== '' && text.replace(words, '').replace(/[\W_]/g, '') === '';
}

/** The password in an address, as drivers read it. */
export function passwordIn(url: string): string {
  const { password, searchParams } = new URL(url);
  try {
    return searchParams.get('password') ?? decodeURIComponent(password);
  } catch {
    return password;
  }
}
