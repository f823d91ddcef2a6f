// The cabinet's files: `npm run web` builds them, compressed, into web/dist. They are read once and served from memory.
// Every page path answers the same index. Files with a hash in their name never change, so browsers cache them for good.
// The content security policy allows only this origin, and no inline scripts or styles [D79].
import { readdir, readFile, stat } from 'node:fs/promises';
import { posix } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../kernel/logger.ts';
import { open } from './authentication.ts';
import { sendInPieces } from './in-pieces.ts';

export interface CabinetFilesDeps {
  basePath: string;
  logger: Logger;
  /** Answers as an unknown path does: for unknown paths of the API, and for callers other than browsers. */
  refuseUnknown: (request: FastifyRequest, reply: FastifyReply) => never;
  /** The directory of the build; tests use their own. */
  directory?: URL | undefined;
}

export interface CabinetFile {
  type: string;
  plain: Buffer;
  br?: Buffer;
  gzip?: Buffer;
}

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  json: 'application/json; charset=utf-8',
  woff2: 'font/woff2',
};

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const built = new URL('../../web/dist/', import.meta.url);

const notBuilt = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Tillgate</title>
<h1>The cabinet is not built</h1><p>Run <code>npm run web</code> in Tillgate's directory and start the gateway again. The API works without it.</p></html>`;

/** All files under the directory by relative path, each with its precompressed body if there is one. */
export async function readCabinetFiles(directory: URL, basePath: string): Promise<Map<string, CabinetFile>> {
  const names = await readdir(directory, { recursive: true }).catch(() => []);
  const files = new Map<string, CabinetFile>();
  const paths = names.map((name) => name.replaceAll('\\', '/'));
  for (const path of paths) {
    const type = types[posix.extname(path).slice(1)];
    if (type === undefined) continue;
    const file: CabinetFile = { type, plain: await readFile(new URL(path, directory)) };
    if (path === 'index.html') file.plain = Buffer.from(placed(file.plain.toString('utf8'), basePath));
    else {
      if (paths.includes(`${path}.br`)) file.br = await readFile(new URL(`${path}.br`, directory));
      if (paths.includes(`${path}.gz`)) file.gzip = await readFile(new URL(`${path}.gz`, directory));
    }
    files.set(path, file);
  }
  return files;
}

/** Whether a source file beside the build is newer than the build. Compares dates, which is accurate enough for a warning. */
async function isStale(directory: URL): Promise<boolean> {
  try {
    const builtAtMs = (await stat(new URL('sources.sha256', directory))).mtimeMs;
    const sources = new URL('../src/', directory);
    for (const name of await readdir(sources, { recursive: true })) {
      const facts = await stat(new URL(name, sources));
      if (facts.isFile() && facts.mtimeMs > builtAtMs) return true;
    }
    return false;
  } catch {
    return false;
  }
}

/** Makes the relative URLs of the build absolute, with the base path, so that they work at every depth of page path. */
function placed(html: string, basePath: string): string {
  return html.replaceAll(/(src|href)="\.\//g, `$1="${basePath}/cabinet/`).replace(/data-base-path="[^"]*"/, `data-base-path="${basePath}"`);
}

export function registerCabinetFiles(app: FastifyInstance, { basePath, logger, refuseUnknown, directory = built }: CabinetFilesDeps): void {
  const fallback = { config: { access: open, isFallback: true, isForBrowsers: true }, schema: { hide: true } };
  let reading: Promise<Map<string, CabinetFile>> | undefined;

  async function read(): Promise<Map<string, CabinetFile>> {
    if (await isStale(directory)) logger.warn({}, 'the built cabinet is older than its sources: run npm run web');
    return readCabinetFiles(directory, basePath);
  }

  function send(request: FastifyRequest, reply: FastifyReply, file: CabinetFile, isHashed: boolean): FastifyReply {
    const accepted = request.headers['accept-encoding'] ?? '';
    const encoding = file.br && /\bbr\b/.test(accepted) ? 'br' : file.gzip && /\bgzip\b/.test(accepted) ? 'gzip' : undefined;
    if (file.br ?? file.gzip) reply.header('vary', 'accept-encoding');
    if (encoding) reply.header('content-encoding', encoding);
    reply
      .type(file.type)
      .header('cache-control', isHashed ? 'public, max-age=31536000, immutable' : 'no-store')
      .header('content-security-policy', policy)
      .header('referrer-policy', 'no-referrer')
      .header('cross-origin-opener-policy', 'same-origin');
    return sendInPieces(reply, (encoding && file[encoding]) ?? file.plain);
  }

  async function serve(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const path = (request.params as { '*'?: string })['*'] ?? '';
    if (/^api(\/|$)/i.test(path)) refuseUnknown(request, reply);
    reading ??= read();
    const files = await reading;
    const file = files.get(path);
    if (file) return send(request, reply, file, path.startsWith('assets/'));
    // A missing file must not be answered with a page, which a browser would run as a broken script.
    if (posix.extname(path) !== '') refuseUnknown(request, reply);
    const index = files.get('index.html') ?? { type: types['html'] ?? '', plain: Buffer.from(notBuilt) };
    return send(request, reply, index, false);
  }

  app.get('/cabinet', fallback, serve);
  app.get('/cabinet/*', fallback, serve);

  // At {base_url} a browser gets the cabinet; for other callers the path is unknown.
  app.get('/', fallback, (request, reply) => {
    if (!request.headers.accept?.includes('text/html')) refuseUnknown(request, reply);
    return reply.header('vary', 'accept').redirect(`${basePath}/cabinet`, 302);
  });
}
