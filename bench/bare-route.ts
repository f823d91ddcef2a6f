// An empty Fastify server: the raw limit of HTTP on this machine.
import { fastify } from 'fastify';

const app = fastify();
app.post('/Pay', () => ({ errorCode: 0, errorMessage: '', report: '{"rrn":"400000000100","operationId":"000000001"}' }));
console.log(`listens at ${await app.listen({ port: 0, host: '127.0.0.1' })}`);
