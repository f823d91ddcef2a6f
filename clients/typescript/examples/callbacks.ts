// The ERP's side of callbacks: takes genuine ones, each once. CALLBACK_SECRET is in sandbox.json, PUBLIC_ADDRESS the beginning of your template.
import { createServer } from 'node:http';
import { verifyCallback } from 'tillgate-client';

const { CALLBACK_SECRET: secret = '', PUBLIC_ADDRESS: publicAddress = '', PORT = '3000' } = process.env;
const handled = new Set<string>(); // in real life: a table with a unique index

const server = createServer((request, response) => {
  const url = `${publicAddress}${request.url}`;
  const genuine = verifyCallback({ secret, url, headers: request.headers });
  if (!genuine) return response.writeHead(401).end();
  if (!handled.has(genuine.id)) {
    handled.add(genuine.id);
    const query = new URL(url).searchParams;
    console.log(`invoice ${query.get('invoice')} is ${query.get('state')}`);
  }
  return response.writeHead(200).end();
});
server.listen(Number(PORT), '127.0.0.1', () => console.log('listening'));
