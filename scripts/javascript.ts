// Before `npm pack`: writes dist/, the sources of src/ as JavaScript, because Node takes no TypeScript under node_modules [D95].
// Types become blanks, by Node itself and as it does in a clone, so that every line keeps its number and the program is the tested one;
// besides that only the names of our own files change their ending. After the pack `--remove` takes dist/ away again.
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const from = join(root, 'src');
const to = join(root, 'dist');

/** Imports, `import(...)` and `new URL(...)` alike: a relative path in quotes that ends in .ts. */
const ownFile = /(['"])(\.{1,2}\/[^'"\n]+)\.ts\1/g;

function toJavaScript(path: string): string {
  const stripped = stripTypeScriptTypes(readFileSync(join(from, path), 'utf8'), { mode: 'strip' });
  return stripped.replace(ownFile, (_all, quote: string, name: string) => {
    if (!existsSync(join(from, dirname(path), `${name}.ts`))) throw new Error(`src/${path} names ${name}.ts, which is not there.`);
    return `${quote}${name}.js${quote}`;
  });
}

rmSync(to, { recursive: true, force: true });
if (!process.argv.includes('--remove')) {
  // Node calls it experimental, and would say so in the middle of what npm prints.
  process.removeAllListeners('warning');
  for (const path of globSync('**/*.ts', { cwd: from })) {
    const target = join(to, path.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, toJavaScript(path));
  }
}
