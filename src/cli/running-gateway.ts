// Which gateway the commands of the cabinet call, and with which token. Invariant: TILLGATE_ADMIN_TOKEN never goes to an address that a
// sandbox.json names, and neither does a pairing code: the file lies in the current directory, and anyone may have put it there. Its address
// gets only its own token.
import { join } from 'node:path';
import { readConfig } from '../config.ts';
import { readSandboxFile } from './sandbox-file.ts';

export function runningGateway(environment?: Parameters<typeof readConfig>[1]): { baseUrl: string; adminToken: string | undefined } {
  const config = readConfig('sandbox', environment);
  const sandbox = readSandboxFile(join(config.dataDir, 'sandbox.json'));
  const adminToken = config.adminToken ?? sandbox?.adminToken;
  const ofSandbox = adminToken === sandbox?.adminToken ? sandbox?.baseUrl : undefined;
  return { baseUrl: config.publicUrl ?? ofSandbox ?? configuredAddress(config), adminToken };
}

/** Of the gateway with these settings. */
export function configuredAddress(config: ReturnType<typeof readConfig>): string {
  const scheme = config.tlsCert === undefined ? 'http' : 'https';
  return config.publicUrl ?? `${scheme}://${config.host}:${config.port}${config.basePath}`;
}
