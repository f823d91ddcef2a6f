// A file of any length, sent piece by piece as it is read. The file itself is one buffer for all who ask; but TLS and the queue of a socket
// would hold the whole of it once more for each connection that does not read [D62]. So an unread answer costs a piece.
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

const pieceBytes = 64 * 1024;

export function sendInPieces(reply: FastifyReply, file: Buffer): FastifyReply {
  if (file.length <= pieceBytes) return reply.send(file);
  let sent = 0;
  const pieces = new Readable({
    highWaterMark: pieceBytes,
    read() {
      const piece = file.subarray(sent, sent + pieceBytes);
      sent += piece.length;
      this.push(piece.length === 0 ? null : piece);
    },
  });
  return reply.header('content-length', file.length).send(pieces);
}
