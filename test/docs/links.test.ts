// Links between the pages lead to files and headings that exist, and so do the paths that pages name.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  ...globSync(['docs/*.md', 'clients/**/README.md'], { cwd: root, exclude: ['**/node_modules'] }),
];
const links = pages.flatMap((page) =>
  [...withoutCode(read(page)).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => ({ page, target }))
    .filter(({ target }) => !/^https?:/.test(target)),
);

/** A folder or file of the project in backticks, perhaps with braces or stars; the CHANGELOG also names what is gone. */
const named = pages
  .filter((page) => page !== 'CHANGELOG.md')
  .flatMap((page) =>
    [...withoutCode(read(page)).matchAll(/`((?:src|test|scripts|simulation|bench|web\/src|deploy|migrations)\/[\w./{},*-]+)`/g)].map(
      ([, path = '']) => ({ page, path }),
    ),
  );

function read(page: string): string {
  return readFileSync(join(root, page), 'utf8');
}

function withoutCode(text: string): string {
  return text.replace(/^```[\s\S]*?^```$/gm, '');
}

/** As GitHub makes them from headings. */
function anchorsOf(page: string): string[] {
  return [...withoutCode(read(page)).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

it('there are pages and links to check', () => {
  expect(pages.length).toBeGreaterThan(7);
  expect(links.length).toBeGreaterThan(25);
});

it.each(links)('$page -> $target', ({ page, target }) => {
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? page : join(dirname(page), path);
  expect(existsSync(join(root, file)), `${file} exists`).toBe(true);
  if (anchor !== undefined) expect(anchorsOf(file)).toContain(anchor);
});

it('paths in the text are those of files', () => {
  expect(named.length).toBeGreaterThan(200);
  // The reader makes `deploy/.env`.
  const gone = named.filter(
    ({ path }) => path !== 'deploy/.env' && alternatives(path).some((one) => globSync(one, { cwd: root }).length === 0),
  );
  expect(gone.map(({ page, path }) => `${page}: ${path}`)).toEqual([]);
});

/** Each of `a/{b,c}.ts` by itself, so that one that is gone is found. */
function alternatives(path: string): string[] {
  const [whole, inner = ''] = /\{([^{}]*)\}/.exec(path) ?? [];
  return whole === undefined ? [path] : inner.split(',').flatMap((one) => alternatives(path.replace(whole, one)));
}
