// Connections that send a byte now and then and never finish a request, from many addresses of loopback; one that is cut
// reconnects. In a separate process, so that its cost does not slow down the measured caller. Prints a line a second.
import { connect } from 'node:net';

const [host = '', port = '', count = '', perAddress = ''] = process.argv.slice(2);
const dripEveryMs = 4_000;
const comeBackAfterMs = 200;
let open = 0;
let opened = 0;
let refused = 0;

function keepOpen(number: number): void {
  const localAddress = `127.0.10.${1 + (Math.floor(number / Number(perAddress)) % 250)}`;
  const socket = connect({ host, port: Number(port), localAddress });
  let drip: NodeJS.Timeout | undefined;
  socket.on('connect', () => {
    open += 1;
    opened += 1;
    socket.write('GET /tillgate/health/live HTTP/1.1\r\nHost: x\r\nX-Slow: ');
    drip = setInterval(() => socket.write('a'), dripEveryMs);
  });
  socket.on('error', () => {
    refused += 1;
  });
  socket.on('data', () => {});
  socket.on('close', () => {
    if (drip) open -= 1;
    clearInterval(drip);
    setTimeout(() => keepOpen(number), comeBackAfterMs);
  });
}

let begun = 0;
const begin = setInterval(() => {
  for (let now = 0; now < 200 && begun < Number(count); now += 1, begun += 1) keepOpen(begun);
  if (begun >= Number(count)) clearInterval(begin);
}, 20);
setInterval(() => process.stdout.write(`${JSON.stringify({ open, opened, refused })}\n`), 1_000);
