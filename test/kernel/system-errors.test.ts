// Each way in which system, network, certificates and databases say no has its sentence: what is wrong, and what to do.
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect as connectTo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { connect, createSecureContext, createServer as createTlsServer } from 'node:tls';
import { afterAll, describe, expect, it } from 'vitest';
import { systemSentence } from '../../src/kernel/system-errors.ts';
import { renewed, selfSigned } from '../http/self-signed.ts';
import { freePort } from '../support/free-port.ts';

const directory = mkdtempSync(join(tmpdir(), 'tillgate-errors-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const file = join(directory, 'file');
writeFileSync(file, 'x');

const made = (facts: object, message = 'no') => Object.assign(new Error(message), facts);

describe('a sentence for', () => {
  it.each<[string, object, RegExp]>([
    ['EACCES', { path: '/var/x', syscall: 'mkdir' }, /^This user may not access \/var\/x: .*chown.* \(EACCES\)\.$/],
    ['EACCES', { address: '127.0.0.1', port: 443, syscall: 'listen' }, /^This user may not listen at 127\.0\.0\.1:443: .*CAP_NET_BIND/],
    ['EPERM', { path: '/var/x' }, /This user may not change \/var\/x/],
    ['ENOSPC', { path: '/var/x', syscall: 'write' }, /^The disk of \/var\/x is full: free some space/],
    ['EDQUOT', { path: '/var/x' }, /quota/],
    ['EROFS', { path: '/var/x' }, /\/var\/x is on a disk that is mounted read-only/],
    ['EIO', { path: '/var/x' }, /fails.*dmesg/],
    ['EMFILE', {}, /LimitNOFILE/],
    ['EADDRNOTAVAIL', { address: '10.9.9.9', port: 80 }, /10\.9\.9\.9:80 is not an address of this machine: set TILLGATE_HOST/],
    ['ENOTFOUND', { hostname: 'borker', syscall: 'getaddrinfo' }, /^There is no host named borker: .*spelling.* \(ENOTFOUND\)\.$/],
    ['EAI_AGAIN', { hostname: 'broker' }, /name server did not answer for broker/],
    ['ETIMEDOUT', { address: '10.0.0.1', port: 5432 }, /10\.0\.0\.1:5432 does not answer: .*firewall/],
    ['UND_ERR_CONNECT_TIMEOUT', {}, /does not answer/],
    ['EHOSTUNREACH', { address: '10.0.0.1' }, /no route to 10\.0\.0\.1/],
    ['ECONNRESET', {}, /closed the connection/],
    ['CERT_HAS_EXPIRED', {}, /expired: renew it/],
    ['CERT_NOT_YET_VALID', {}, /not valid yet: check the clocks/],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', {}, /whole chain\. If.*NODE_EXTRA_CA_CERTS/],
    ['SELF_SIGNED_CERT_IN_CHAIN', {}, /NODE_EXTRA_CA_CERTS/],
    ['42501', {}, /PostgreSQL says: no\. Make the user of TILLGATE_DATABASE_URL the owner/],
    ['28P01', {}, /user and password/],
    ['28000', {}, /pg_hba\.conf/],
    ['3D000', {}, /createdb/],
    ['53300', {}, /max_connections/],
    ['53100', {}, /Free some space/],
    ['57P03', {}, /in a moment/],
    ['25006', {}, /standby/],
  ])('%s', (code, facts, sentence) => {
    expect(systemSentence(made({ code, ...facts }))).toMatch(sentence);
  });

  it.each<[string, number, RegExp]>([
    ['a full disk', 13, /full/],
    ['a file that may not be written', 8, /is not writable/],
    ['a failing disk, with its extended code', 10 | (9 << 8), /fails/],
    ['a damaged file', 11, /restore the last backup/],
  ])('SQLite and %s', (_what, errcode, sentence) => {
    expect(systemSentence(made({ code: 'ERR_SQLITE_ERROR', errcode }))).toMatch(sentence);
  });

  it.each<[string, () => unknown, RegExp]>([
    ['a file in the place of a directory', () => mkdirSync(file, { recursive: true }), /file exists already and is not a directory/],
    ['a file on the way to a directory', () => mkdirSync(join(file, 'below')), /below is not a valid path: a part of it is a file/],
    ['a file that is not there', () => readFileSync(join(directory, 'none')), /none does not exist/],
    ['a directory in the place of a file', () => readFileSync(directory), /is a directory/i],
    ['a key of another certificate', () => createSecureContext({ cert: selfSigned.cert, key: renewed.key }), /do not match/],
    ['what is no certificate', () => createSecureContext({ cert: 'x', key: selfSigned.key }), /no certificate or key in PEM/],
    ['a database file that is none', () => new DatabaseSync(file).exec('select * from sqlite_master'), /not an SQLite file/],
    ['a database that cannot be opened', () => new DatabaseSync(directory), /TILLGATE_DATA_DIR cannot be opened/],
  ])('%s, as Node really throws it', (_what, provoke, sentence) => {
    writeFileSync(file, 'this is no database, and long enough to be looked at as one'.repeat(20));
    let thrown: unknown;
    try {
      provoke();
    } catch (error) {
      thrown = error;
    }
    expect(systemSentence(thrown)).toMatch(sentence);
  });
});

async function failureOf(start: () => NodeJS.EventEmitter): Promise<unknown> {
  const [error] = (await once(start(), 'error')) as [unknown];
  return error;
}

describe('as sockets really fail', () => {
  it('nothing listens', async () => {
    const port = await freePort();
    expect(systemSentence(await failureOf(() => connectTo(port, '127.0.0.1')))).toMatch(
      `Nothing listens at 127.0.0.1:${port}: start the server there`,
    );
    const unreached = await fetch(`http://127.0.0.1:${port}`).catch((error: unknown) => error);
    expect(systemSentence(unreached)).toContain('Nothing listens at');
  });

  it('a port is taken', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as AddressInfo;
    expect(systemSentence(await failureOf(() => createServer().listen(port, '127.0.0.1')))).toMatch(`Port ${port} is in use`);
    holder.close();
  });

  it('an untrusted certificate, one of another name, and no TLS at all', async () => {
    const server = createTlsServer(selfSigned).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const dial = (options: object) => failureOf(() => connect({ port, host: '127.0.0.1', ...options }));
    expect(systemSentence(await dial({}))).toMatch(/self-signed.*NODE_EXTRA_CA_CERTS/);
    expect(systemSentence(await dial({ ca: selfSigned.cert, servername: 'other.example' }))).toMatch(/another name \(.*localhost/);
    server.close();
    const plain = createServer((socket) => socket.end('220 hello, this is no TLS\r\n')).listen(0, '127.0.0.1');
    await once(plain, 'listening');
    const plainPort = (plain.address() as AddressInfo).port;
    expect(systemSentence(await failureOf(() => connect({ port: plainPort, host: '127.0.0.1' })))).toMatch(/does not use TLS/);
    plain.close();
  });
});

describe('a chain of errors', () => {
  it('is described by the one that the tables know, also among several addresses', () => {
    const refused = made({ code: 'ECONNREFUSED', address: '::1', port: 1 });
    expect(systemSentence(new Error('outer', { cause: new Error('middle', { cause: refused }) }))).toContain('::1:1');
    expect(systemSentence(new Error('outer', { cause: new AggregateError([refused, refused], 'both') }))).toContain('::1:1');
  });

  it('has no message when it is our own bug, and ends when it is circular', () => {
    expect(systemSentence(new TypeError('x is not a function'))).toBeUndefined();
    expect(systemSentence('text')).toBeUndefined();
    const circle = new Error('round');
    circle.cause = circle;
    expect(systemSentence(circle)).toBeUndefined();
  });
});
