// The program of the version before, unpacked where it finds this version's packages and cabinet.
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync } from 'node:zlib';
import { temporaryDirectory } from '../support/gateway-process.ts';

export interface VersionBefore {
  mainFile: string;
  /** How many it knows. */
  migrations: number;
  /** It reads what a newer database promises, and starts on it by itself. */
  readsPromises: boolean;
}

export function unpackVersionBefore(): VersionBefore {
  const packed = readFileSync(new URL('version-before.json.br', import.meta.url));
  const { files } = JSON.parse(brotliDecompressSync(packed).toString('utf8')) as { files: Record<string, string> };
  const directory = temporaryDirectory();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(directory, dirname(path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
  for (const name of ['node_modules', 'web']) symlinkSync(fileURLToPath(new URL(`../../${name}`, import.meta.url)), join(directory, name));
  return {
    mainFile: join(directory, 'src/cli/main.ts'),
    migrations: Object.keys(files).filter((path) => /^migrations\/\d{4}_.*\.sql$/.test(path)).length,
    readsPromises: files['src/database/migrations.ts']?.includes('migration_promises') ?? false,
  };
}
