// Sends a file in chunks, as fast as the client reads. All answers share the file's buffer, but TLS and the write queue of the socket would
// copy the whole file for each connection that does not read [D62]. In chunks, an unread answer costs the memory of one chunk.
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
