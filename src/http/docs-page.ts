// The readable API reference: Swagger UI from its npm package, served from here under a strict policy that lets
// the page load nothing from elsewhere.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { open } from './authentication.ts';

const assets: Record<string, string> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};

// Swagger UI draws its icons from data: URLs in its style sheet; all else comes from this origin.
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const page = (base: string) => `<!doctype html>
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
<div id="reference"></div>
<script src="${base}/docs/swagger-ui-bundle.js"></script>
<script src="${base}/docs/start.js"></script>
</body>
</html>
`;

// No routes here link to each other, so Swagger UI's column of links would only say so in every row.
const pageStyle = `body { margin: 0; }
.swagger-ui .response-col_links { display: none; }
.swagger-ui .info { margin: 30px 0; }
.swagger-ui .info table { width: auto; margin: 12px 0; border-collapse: collapse; }
.swagger-ui .info table thead tr th, .swagger-ui .info table tbody tr td, .swagger-ui .info table tbody tr td:first-of-type {
  padding: 3px 18px 3px 0; border-bottom: 1px solid #ddd; text-align: left; font-size: 14px; min-width: 0; width: auto;
}
.swagger-ui .scheme-container { padding: 14px 0; }
`;

const startScript = (base: string) => `SwaggerUIBundle({
  url: ${JSON.stringify(`${base}/openapi.json`)},
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: -1,
  validatorUrl: null,
});
`;

export function registerDocsPage(app: FastifyInstance, basePath: string, describe: () => object): void {
  const hidden = { config: { access: open }, schema: { hide: true } };
  const send = (reply: FastifyReply, contentType: string, body: string | Buffer) =>
    reply.type(contentType).header('content-security-policy', policy).send(body);

  app.get('/docs', hidden, (_request, reply) => send(reply, 'text/html; charset=utf-8', page(basePath)));
  app.get('/docs/start.js', hidden, (_request, reply) => send(reply, 'text/javascript; charset=utf-8', startScript(basePath)));

  app.get('/docs/page.css', hidden, (_request, reply) => send(reply, 'text/css; charset=utf-8', pageStyle));

  for (const [name, contentType] of Object.entries(assets)) {
    let content: Promise<Buffer> | undefined;
    app.get(`/docs/${name}`, hidden, async (_request, reply) => {
      content ??= readFile(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`)));
      return send(reply.header('cache-control', 'public, max-age=3600'), contentType, await content);
    });
  }

  let document: string | undefined;
  app.get('/openapi.json', hidden, (_request, reply) => {
    document ??= JSON.stringify(describe());
    return reply.type('application/json; charset=utf-8').send(document);
  });
}
