// What the system, the network, a certificate, PostgreSQL or SQLite say no with, as a sentence that tells a person what to do.
// Always holds: a sentence is made only from an error's own code and what it names (file, address, name), never from a stack or a login;
// what is not in these tables gets none, and the caller shows the error as it is.

interface ErrorFacts {
  code: string;
  message: string;
  path: string;
  syscall: string;
  /** host:port, or what is known of it. */
  place: string;
  port: string;
  name: string;
}

type Sentence = (facts: ErrorFacts) => string;

const fileSentences: Record<string, Sentence> = {
  EACCES: ({ syscall, place, port, path }) =>
    syscall === 'listen'
      ? `This user may not listen at ${place}: ports below 1024 need a right of their own (AmbientCapabilities=CAP_NET_BIND_SERVICE in the unit), so take one above, or a proxy for port ${port}`
      : `This user may not use ${path}: give it to the user that Tillgate runs as (chown, chmod), or name another place`,
  EPERM: ({ path }) => `The system does not let this user change ${path}: give it to the user that Tillgate runs as, or name another place`,
  ENOENT: ({ path }) => `${path} is not there: check the spelling, and that the directory above it exists`,
  EEXIST: ({ path }) => `${path} is there already and is no directory: move it away, or name another place`,
  ENOTDIR: ({ path }) => `${path} cannot be: a part of it is a file and no directory. Name another place`,
  EISDIR: ({ path }) => `${path} is a directory, and a file is meant: name the file in it`,
  ENOSPC: ({ path }) => `The disk of ${path} is full: make room on it. What was acknowledged is not lost`,
  EDQUOT: ({ path }) => `The quota of this user on the disk of ${path} is used up: make room, or raise it`,
  EROFS: ({ path }) => `${path} lies on a disk that is mounted read-only: mount it for writing, or name another place`,
  EIO: ({ path }) => `The disk of ${path} fails: look into the system's log (dmesg), and do not start on it again before it is mended`,
  EMFILE: () => 'This process has as many files and connections open as it may: raise LimitNOFILE in the unit (ulimit -n)',
  ENFILE: () => 'The system has as many files open as it may: raise fs.file-max',
};

const networkSentences: Record<string, Sentence> = {
  EADDRINUSE: ({ port }) =>
    `Port ${port} is taken by another program: stop it, or set TILLGATE_PORT (or TILLGATE_MQTT_PORT, TILLGATE_MQTTS_PORT) to another one`,
  EADDRNOTAVAIL: ({ place }) => `${place} is no address of this machine: set TILLGATE_HOST to one that it has`,
  ECONNREFUSED: ({ place }) => `Nothing listens at ${place}: start it there, or mend host and port`,
  ENOTFOUND: ({ name }) => `There is no host named ${name}: check the spelling, or the name server`,
  EAI_AGAIN: ({ name }) =>
    `The name server did not answer for ${name}: check the network of this machine (/etc/resolv.conf), and try again`,
  ETIMEDOUT: ({ place }) => `${place} does not answer: see whether it is started, and whether a firewall lies between`,
  EHOSTUNREACH: ({ place }) => `There is no way to ${place}: check the network between`,
  ENETUNREACH: ({ place }) => `This machine has no network that leads to ${place}: check its own network`,
  ECONNRESET: ({ place }) => `${place} hung up: it may be starting, may want TLS, or may not want this machine; its log says which`,
};
const sameAs: Record<string, string> = {
  EPIPE: 'ECONNRESET',
  UND_ERR_CONNECT_TIMEOUT: 'ETIMEDOUT',
  UND_ERR_HEADERS_TIMEOUT: 'ETIMEDOUT',
  UND_ERR_SOCKET: 'ECONNRESET',
  SELF_SIGNED_CERT_IN_CHAIN: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  UNABLE_TO_GET_ISSUER_CERT: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  ERR_SSL_WRONG_VERSION_NUMBER: 'EPROTO',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'EPROTO',
  ERR_OSSL_PEM_BAD_END_LINE: 'ERR_OSSL_PEM_NO_START_LINE',
  ERR_OSSL_UNSUPPORTED: 'ERR_OSSL_PEM_NO_START_LINE',
};

const ownRoot = 'If it is of your own authority, name its root in NODE_EXTRA_CA_CERTS';
const certificateSentences: Record<string, Sentence> = {
  CERT_HAS_EXPIRED: () => 'The certificate of the other side has expired: renew it there',
  CERT_NOT_YET_VALID: () => 'The certificate of the other side is not valid yet: check the clocks of both machines',
  CERT_REVOKED: () => 'The certificate of the other side was revoked: get a new one there',
  DEPTH_ZERO_SELF_SIGNED_CERT: () => `The certificate of the other side is self-signed, and no authority vouches for it. ${ownRoot}`,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: () =>
    `Who signed the certificate of the other side is not known here: it must send its whole chain. ${ownRoot}`,
  ERR_TLS_CERT_ALTNAME_INVALID: ({ message }) =>
    `The certificate of the other side is for another name (${message.replace(/^.*?altnames: /s, '')}): dial a name that it has`,
  EPROTO: () => 'The other side does not speak TLS there: check the port, or take the address without TLS',
  ERR_OSSL_X509_KEY_VALUES_MISMATCH: () => 'Certificate and key do not belong together: name the key that the certificate was made with',
  ERR_OSSL_PEM_NO_START_LINE: () => 'The file holds no certificate or key in PEM ("-----BEGIN ...")',
};

const lacksRight =
  'Make the user of TILLGATE_DATABASE_URL the owner of the database and of what is in it (ALTER DATABASE ... OWNER TO ...)';
/** By SQLSTATE; PostgreSQL's own words name the table, the user or the database. */
const postgresSentences: Record<string, Sentence> = {
  '42501': ({ message }) => `PostgreSQL says: ${message}. ${lacksRight}`,
  '28P01': ({ message }) => `PostgreSQL says: ${message}. Check user and password in TILLGATE_DATABASE_URL`,
  '28000': ({ message }) =>
    `PostgreSQL says: ${message}. Check the user in TILLGATE_DATABASE_URL, and that pg_hba.conf lets it in from here`,
  '3D000': ({ message }) => `PostgreSQL says: ${message}. Make it (createdb), or name another in TILLGATE_DATABASE_URL`,
  '53300': ({ message }) => `PostgreSQL says: ${message}. Raise max_connections, or lower TILLGATE_DATABASE_CONNECTIONS`,
  '53100': ({ message }) => `PostgreSQL says: ${message}. Make room on its disk`,
  '57P03': ({ message }) => `PostgreSQL says: ${message}. Try again in a moment`,
  '25006': () => 'This PostgreSQL is a standby, or was set to be read only: name the one that writes in TILLGATE_DATABASE_URL',
};

/** By primary result code. */
const sqliteSentences: Record<string, Sentence> = {
  8: () => 'The database file may not be written: it, and its directory, must belong to the user that Tillgate runs as',
  10: () => "The disk of the database file fails: look into the system's log (dmesg), and do not start on it again before it is mended",
  11: () => 'The database file is damaged: put it aside and restore the last backup (docs/operating.md, Backup)',
  13: () => 'The disk of the database file is full: make room on it. What was acknowledged is not lost',
  14: () => 'A file in TILLGATE_DATA_DIR cannot be opened: the directory must be there and belong to the user that Tillgate runs as',
  26: () => 'The database file is none of SQLite: name another TILLGATE_DATA_DIR, or restore the last backup (docs/operating.md, Backup)',
};

const bySystem = { ...fileSentences, ...networkSentences, ...certificateSentences, ...postgresSentences };
const deepestCause = 8;

/** The first error of the chain of causes that the tables know. undefined: a bug, or an error that the tables do not know. */
export function systemSentence(error: unknown): string | undefined {
  for (let one: unknown = error, depth = 0; one instanceof Error && depth < deepestCause; depth += 1) {
    const facts = read(one);
    const sentence = sentenceOf(one, facts);
    if (sentence !== undefined) return `${sentence.replace(/\.$/, '')} (${facts.code}).`;
    // A name with several addresses fails with one error for each.
    one = one.cause ?? (one as { errors?: unknown[] }).errors?.[0];
  }
  return undefined;
}

function sentenceOf(error: Error, facts: ErrorFacts): string | undefined {
  const { errcode } = error as { errcode?: number };
  if (errcode !== undefined) return sqliteSentences[errcode & 0xff]?.(facts);
  return bySystem[sameAs[facts.code] ?? facts.code]?.(facts);
}

function read(error: Error): ErrorFacts {
  const given = error as Partial<Record<'code' | 'path' | 'syscall' | 'address' | 'hostname' | 'host', string>> & {
    port?: number;
    errcode?: number;
  };
  const { path = 'a file', syscall = '', port } = given;
  const host = given.hostname ?? given.address ?? given.host;
  const place = host === undefined ? 'that address' : `${host}${port === undefined ? '' : `:${port}`}`;
  const code = given.errcode === undefined ? String(given.code) : `SQLite ${given.errcode}`;
  return { code, message: error.message, path, syscall, place, port: String(port), name: host ?? 'that name' };
}
