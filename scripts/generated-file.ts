// A generated and committed file: written, or with --check compared. Scripts stay importable, so that tests can use the document.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

export function textOf(document: object): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** Acts only if the calling script is the main program. `script` is its import.meta.url. */
export function runGenerator(script: string, path: string, create: () => object | Promise<object>): Promise<void> {
  return runTextGenerator(script, path, async () => textOf(await create()));
}

/** The same for any text. */
export async function runTextGenerator(script: string, path: string, create: () => string | Promise<string>): Promise<void> {
  const scriptFile = fileURLToPath(script);
  if (process.argv[1] !== scriptFile) return;
  const file = fileURLToPath(new URL(`../${path}`, import.meta.url));
  const text = await create();
  if (!process.argv.includes('--check')) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return;
  }
  if (readOrNothing(file) === text) return;
  console.error(`${path} is stale: run node scripts/${scriptFile.split('/').at(-1)}`);
  process.exitCode = 1;
}

function readOrNothing(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
