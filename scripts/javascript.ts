// Before `npm pack`, and for the image: writes dist/, the program as JavaScript, because Node runs no TypeScript under node_modules. It is
// some twenty files instead of seven hundred: finding and linking modules one by one was a third of a start, and a tenth of the memory
// [D126]. Nothing is minified, and a comment names each source. Packages are not bundled, except Kysely and TypeBox [D275], of 255 and 375
// modules. After the pack `--remove` deletes dist/ again.
import { rmSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type OutputChunk, rolldown } from 'rolldown';

const root = fileURLToPath(new URL('../', import.meta.url));
const to = join(root, 'dist');
/** At the depth of the sources that read files of the package: `../../migrations` is right from both. */
const codeDirectory = join(to, 'cli');

/** Files that are started by their path. */
const starts = { main: 'src/cli/main.ts', 'sqlite-worker': 'src/database/sqlite/worker.ts' };
const workerInSources = `new URL('./worker.ts', import.meta.url)`;
const workerInPackage = `new URL('./sqlite-worker.js', import.meta.url)`;

/** The thread of SQLite is started by its path, which differs in the package. */
function moveWorker(code: string): string {
  if (code.split(workerInSources).length !== 2) throw new Error(`src/database/sqlite/worker-link.ts does not say ${workerInSources} once.`);
  return code.replace(workerInSources, workerInPackage);
}

const pathFromHere = /new URL\('(\.\.\/[^']*)', import\.meta\.url\)|import\.meta\.dirname, '(\.\.\/[^']*)'/g;

/** A source at another depth that reads a file of the package would not find it. */
function checkDepth(text: string, file: string): void {
  const depth = relative(join(root, 'src'), file).split(sep).length;
  for (const [, byUrl, byName] of text.matchAll(pathFromHere))
    if (depth !== 2 || !/^\.\.\/\.\.\/\w/.test(byUrl ?? byName ?? ''))
      throw new Error(`${file} looks for ${byUrl ?? byName}, which a package has elsewhere: let it lie two deep.`);
}

const isOwn = (file: string) => file.startsWith(join(root, 'src/')) || /[\\/]node_modules[\\/](?:kysely|typebox)[\\/]/.test(file);

function reachedFrom(from: OutputChunk | undefined, chunks: readonly OutputChunk[], reached = new Set<string>()): Set<string> {
  for (const name of from?.imports ?? []) {
    if (reached.has(name)) continue;
    reached.add(name);
    reachedFrom(
      chunks.find(({ fileName }) => fileName === name),
      chunks,
      reached,
    );
  }
  return reached;
}

async function build(): Promise<void> {
  const bundle = await rolldown({
    cwd: root,
    input: starts,
    platform: 'node',
    treeshake: false,
    optimization: { inlineConst: false },
    external: (id, _importer, isResolved) => (isResolved ? !isOwn(id) : !/^[./]|^(?:kysely|typebox)$/.test(id)),
    plugins: [
      { name: 'worker', transform: { filter: { id: /sqlite[\\/]worker-link\.ts$/ }, handler: moveWorker } },
      { name: 'depth', transform: { order: 'pre', filter: { id: /[\\/]src[\\/].*\.ts$/ }, handler: checkDepth } },
    ],
    onLog(level, log) {
      throw new Error(`${level}: ${log.message}`);
    },
  });
  const { output } = await bundle.write({
    dir: codeDirectory,
    format: 'esm',
    minify: false,
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
  });
  const chunks = output.filter((file): file is OutputChunk => file.type === 'chunk');
  // Importing the entry runs the program.
  const worker = chunks.find(({ fileName }) => fileName === 'sqlite-worker.js');
  if (reachedFrom(worker, chunks).has('main.js')) throw new Error('The thread of SQLite would run the whole program.');
  const strays = chunks.flatMap(({ moduleIds }) => moduleIds.filter((id) => !isOwn(id) && !id.startsWith('\0')));
  if (strays.length > 0) throw new Error(`dist/ would hold what is not ours: ${strays.join(', ')}`);
}

rmSync(to, { recursive: true, force: true });
if (!process.argv.includes('--remove')) await build();
