// An endpoint in addition to the four of the specification [D3]: the picture of a QR.

import { Type } from 'typebox';
import { open } from '../http/authentication.ts';
import { protocolFailure } from '../http/envelope.ts';
import { errorResponses } from '../http/schemas.ts';
import type { RouteApp } from '../http/server.ts';
import type { Invoices } from './invoices.ts';
import { qrPng, qrSvg } from './qr-picture.ts';

const exampleFile = 'AQ9iZzcU7kaBs0lNq2tDQwWex87g9SwhwyqTJddp1P5X.png';

export function registerPictureRoutes(app: RouteApp, invoices: Pick<Invoices, 'checkQr'>): void {
  const picture = { schema: { type: 'string', format: 'binary' } };
  const refused = errorResponses('Invalid_QR', 'Error_Connection_Database')[200]?.content;
  app.get(
    '/qr/:file',
    {
      config: { access: open },
      schema: {
        tags: ['Pictures'],
        operationId: 'qrPicture',
        summary: 'The picture of a QR',
        description: 'For receipts, screens and e-mails.',
        params: Type.Object({ file: Type.String({ description: 'The text of a QR, then .png or .svg.', examples: [exampleFile] }) }),
        response: {
          200: { description: 'The picture.', content: { 'image/png': picture, 'image/svg+xml': picture, ...refused } },
          ...errorResponses('Invalid_Request', 'Too_Many_Requests'),
        },
      },
    },
    async (request, reply) => {
      const [, qr = '', kind] = /^(.*)\.(png|svg)$/i.exec(request.params.file) ?? [];
      if (kind === undefined) throw protocolFailure(404, 'A picture is the text of a QR, followed by .png or .svg.');
      await invoices.checkQr(qr);
      // The picture of a text never changes; it is private because a holder of the text may fetch the receipt.
      reply.header('cache-control', 'private, max-age=31536000, immutable');
      if (kind.toLowerCase() === 'png') return await reply.type('image/png').send(qrPng(qr));
      return await reply.type('image/svg+xml; charset=utf-8').send(qrSvg(qr));
    },
  );
}
