// Builds the cabinet into web/dist if its sources have changed since the last build; with --check it only reports whether they have.
// Swagger UI's files are copied to web/reference, so that an installed Tillgate needs no package for them.
// It runs after `npm ci` and before `npm start` and `npm test`, so that a stale build is never served. Without the sources
// (a packed tarball, an image's dependency layer) there is nothing to build.
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const root = fileURLToPath(new URL('../', import.meta.url));
const mark = `${root}web/dist/sources.sha256`;
const referenceFiles = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'];

function copyReference(): void {
  mkdirSync(`${root}web/reference`, { recursive: true });
  for (const name of referenceFiles)
    copyFileSync(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`)), `${root}web/reference/${name}`);
}

/** A hash of all inputs of the build: a checkout of another branch changes it, touching a file does not. */
function hashSources(): string {
  const paths = globSync(['web/{src,public}/**/*.*', 'web/{index.html,vite.config.ts,package.json}'], { cwd: root }).sort();
  const hash = createHash('sha256');
  for (const path of [...paths, 'package-lock.json'])
    hash
      .update(`${path}\n`)
      .update(readFileSync(`${root}${path}`))
      .update('\n');
  return hash.digest('hex');
}

async function build(): Promise<void> {
  // React and others read it while they are bundled: with `test` or `development` the cabinet would be twice as large, and slow.
  process.env['NODE_ENV'] = 'production';
  const { build: bundle } = await import('vite');
  await bundle({ root: `${root}web`, configFile: `${root}web/vite.config.ts`, logLevel: 'warn' });
  for (const path of globSync('**/*.{js,css,svg}', { cwd: `${root}web/dist` })) {
    const body = readFileSync(`${root}web/dist/${path}`);
    writeFileSync(`${root}web/dist/${path}.gz`, gzipSync(body, { level: 9 }));
    writeFileSync(`${root}web/dist/${path}.br`, brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }));
  }
}

if (existsSync(`${root}web/src/main.tsx`)) {
  const wanted = hashSources();
  const hasReference = referenceFiles.every((name) => existsSync(`${root}web/reference/${name}`));
  const isFresh = hasReference && existsSync(mark) && readFileSync(mark, 'utf8') === wanted;
  if (process.argv.includes('--check')) {
    console.log(isFresh ? 'web/dist is up to date' : 'web/dist is older than its sources: npm run web');
    process.exitCode = isFresh ? 0 : 1;
  } else if (!isFresh) {
    await build();
    copyReference();
    writeFileSync(mark, wanted);
    console.log('web/dist is built');
  }
}
