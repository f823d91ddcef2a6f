// The API reference: Swagger UI, whose files `npm run web` copies to web/reference, under a content security policy that allows only this
// origin. Two pages: the calls of an ERP (small enough for a phone) and the calls of the cabinet.
import { readFile } from 'node:fs/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Access } from './authentication.ts';
import { type Demo, withDemo } from './examples.ts';
import { sendInPieces } from './in-pieces.ts';
import { type ApiDocument, joined } from './openapi-parts.ts';
import type { DocumentFile } from './packaged-document.ts';

const assets: Record<string, string> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};

const reference = new URL('../../web/reference/', import.meta.url);

const pages = [
  ['/docs', 'openapi.json', 'v1.json'],
  ['/docs/cabinet', 'cabinet.json', 'cabinet.json'],
] as const;

// Swagger UI has its icons as data: URLs in its style sheet; everything else is loaded from this origin.
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const page = (base: string, document: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tillgate API</title>
<link rel="icon" type="image/png" href="${base}/docs/favicon-32x32.png">
<link rel="stylesheet" href="${base}/docs/swagger-ui.css">
<link rel="stylesheet" href="${base}/docs/page.css">
</head>
<body>
<nav><a href="${base}/docs">Calls of an ERP</a> <a href="${base}/docs/cabinet">Calls of the cabinet</a></nav>
<div id="reference" data-document="${base}/docs/${document}"></div>
<script src="${base}/docs/swagger-ui-bundle.js"></script>
<script src="${base}/docs/start.js"></script>
</body>
</html>
`;

// No route declares links, so Swagger UI's column of links would be empty in every row.
const pageStyle = `body { margin: 0; }
nav { font: 14px sans-serif; padding: 14px 20px 0; max-width: 1460px; margin: 0 auto; box-sizing: border-box; }
nav a { margin-right: 18px; color: #2158a8; }
.swagger-ui .response-col_links { display: none; }
.swagger-ui .info { margin: 30px 0; }
.swagger-ui .info table { width: auto; margin: 12px 0; border-collapse: collapse; }
.swagger-ui .info table thead tr th, .swagger-ui .info table tbody tr td, .swagger-ui .info table tbody tr td:first-of-type {
  padding: 3px 18px 3px 0; border-bottom: 1px solid #ddd; text-align: left; font-size: 14px; min-width: 0; width: auto;
}
.swagger-ui .scheme-container { padding: 14px 0; }
@media (max-width: 640px) {
  .swagger-ui .wrapper { padding: 0 10px; }
  .swagger-ui .opblock-body { overflow-x: auto; }
  .swagger-ui .info table { display: block; overflow-x: auto; }
  .swagger-ui .opblock .opblock-summary-path { max-width: none; flex: 1 1 100%; }
  .swagger-ui .parameters, .swagger-ui .responses-table, .swagger-ui .parameters tbody, .swagger-ui .responses-table tbody { display: block; }
  .swagger-ui table.parameters thead, .swagger-ui table.responses-table thead { display: none; }
  .swagger-ui table.parameters tr, .swagger-ui table.responses-table tr { display: block; padding: 8px 0; }
  .swagger-ui table.parameters td, .swagger-ui table.responses-table td:not(.response-col_links) { display: block; width: auto; max-width: 100%; padding: 0 0 8px; }
}
`;

const startScript = `const reference = SwaggerUIBundle({
  url: document.getElementById('reference').dataset.document,
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelExpandDepth: 8,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  validatorUrl: null,
  onComplete() {
    const key = reference.specSelectors.specJson().getIn(['info', 'x-sandbox-key']);
    if (key) reference.preauthorizeApiKey('keyInHeader', key);
  },
});
`;

export interface DocsPageDeps {
  basePath: string;
  /** The base URL under which others reach the gateway. */
  publicUrl?: string | undefined;
  read: (file: DocumentFile) => Promise<ApiDocument>;
  /** Called at each visit, because a sandbox has its key only after the server listens. Returns the same object while it is unchanged. */
  demo: () => Demo;
  /** Access to the pages and to the document. */
  access: Access;
}

export function registerDocsPage(app: FastifyInstance, { basePath, publicUrl, read, demo, access }: DocsPageDeps): void {
  const hidden = { config: { access, isForBrowsers: true }, schema: { hide: true } };
  const send = (reply: FastifyReply, contentType: string, body: Buffer) =>
    sendInPieces(reply.type(contentType).header('content-security-policy', policy), body);
  const [script, style] = [Buffer.from(startScript), Buffer.from(pageStyle)];

  app.get('/docs/start.js', hidden, (_request, reply) => send(reply, 'text/javascript; charset=utf-8', script));

  app.get('/docs/page.css', hidden, (_request, reply) => send(reply, 'text/css; charset=utf-8', style));

  for (const [name, contentType] of Object.entries(assets)) {
    let content: Promise<Buffer> | undefined;
    app.get(`/docs/${name}`, hidden, async (_request, reply) => {
      content ??= readFile(new URL(name, reference));
      return send(reply.header('cache-control', 'public, max-age=3600'), contentType, await content);
    });
  }

  for (const [path, file, source] of pages) {
    const html = Buffer.from(page(basePath, file));
    app.get(path, hidden, (_request, reply) => send(reply, 'text/html; charset=utf-8', html));
    let kept: { demo: Demo; text: Buffer } | undefined;
    // It may hold the key of a sandbox. Pages of other sites cannot read it: no CORS header allows them, and the Host header must be ours.
    app.get(`/docs/${file}`, hidden, async (_request, reply) => {
      const given = demo();
      // Made once; again when a sandbox gets its key.
      if (kept?.demo !== given) kept = { demo: given, text: Buffer.from(withDemo(await read(source), given)) };
      return send(reply.header('cache-control', 'no-store'), 'application/json; charset=utf-8', kept.text);
    });
  }

  let document: Buffer | undefined;
  app.get('/openapi.json', { ...hidden, config: { access } }, async (request, reply) => {
    document ??= await wholeWithoutServers(read);
    const servers = Buffer.from(`{"servers":${JSON.stringify([{ url: publicUrl ?? calledAddress(request, basePath) }])},`);
    return sendInPieces(reply.type('application/json; charset=utf-8'), Buffer.concat([servers, document.subarray(1)]));
  });
}

async function wholeWithoutServers(read: DocsPageDeps['read']): Promise<Buffer> {
  const { servers: _, ...rest } = joined(await read('v1.json'), await read('cabinet.json'));
  return Buffer.from(JSON.stringify(rest));
}

/** Whole, because people store the document for generators, which know no other address. */
function calledAddress({ protocol, headers: { host = '' } }: FastifyRequest, basePath: string): string {
  const isHost = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i.test(host);
  return isHost ? `${protocol}://${host}${basePath}` : basePath || '/';
}
