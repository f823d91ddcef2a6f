// Errors of the system, the network, certificates, PostgreSQL and SQLite as sentences that say what to do.
// Invariant: a sentence contains only the error's code and the file, address or name in it, never a stack or a login. An error that is not
// in these tables gets no sentence, and the caller shows it unchanged.

interface ErrorFacts {
  code: string;
  message: string;
  path: string;
  syscall: string;
  /** host:port, as far as known. */
  place: string;
  port: string;
  name: string;
}

type Sentence = (facts: ErrorFacts) => string;

const fileSentences: Record<string, Sentence> = {
  EACCES: ({ syscall, place, port, path }) =>
    syscall === 'listen'
      ? `This user may not listen at ${place}: ports below 1024 need a capability (AmbientCapabilities=CAP_NET_BIND_SERVICE in the unit). Use a higher port, or a proxy for port ${port}`
      : `This user may not access ${path}: give it to the user that Tillgate runs as (chown, chmod), or choose another path`,
  EPERM: ({ path }) => `This user may not change ${path}: give it to the user that Tillgate runs as, or choose another path`,
  ENOENT: ({ path }) => `${path} does not exist: check the spelling, and that its parent directory exists`,
  EEXIST: ({ path }) => `${path} exists already and is not a directory: move it away, or choose another path`,
  ENOTDIR: ({ path }) => `${path} is not a valid path: a part of it is a file, not a directory. Choose another path`,
  EISDIR: ({ path }) => `${path} is a directory, not a file: give the path of the file in it`,
  ENOSPC: ({ path }) => `The disk of ${path} is full: free some space. Acknowledged data is not lost`,
  EDQUOT: ({ path }) => `The disk quota of this user for ${path} is used up: free some space, or raise the quota`,
  EROFS: ({ path }) => `${path} is on a disk that is mounted read-only: mount it for writing, or choose another path`,
  EIO: ({ path }) => `The disk of ${path} fails: check the system's log (dmesg), and do not use the disk until it is repaired`,
  EMFILE: () => 'This process has reached its limit of open files and connections: raise LimitNOFILE in the unit (ulimit -n)',
  ENFILE: () => 'The system has reached its limit of open files: raise fs.file-max',
};

const networkSentences: Record<string, Sentence> = {
  EADDRINUSE: ({ port }) =>
    `Port ${port} is in use by another program: stop it, or set TILLGATE_PORT (or TILLGATE_MQTT_PORT, TILLGATE_MQTTS_PORT) to another port`,
  EADDRNOTAVAIL: ({ place }) => `${place} is not an address of this machine: set TILLGATE_HOST to one of its addresses`,
  ECONNREFUSED: ({ place }) => `Nothing listens at ${place}: start the server there, or correct host and port`,
  ENOTFOUND: ({ name }) => `There is no host named ${name}: check the spelling and the name server`,
  EAI_AGAIN: ({ name }) =>
    `The name server did not answer for ${name}: check the network of this machine (/etc/resolv.conf), and try again`,
  ETIMEDOUT: ({ place }) => `${place} does not answer: check that the server runs, and that no firewall blocks the connection`,
  EHOSTUNREACH: ({ place }) => `There is no route to ${place}: check the network between the machines`,
  ENETUNREACH: ({ place }) => `This machine has no network that leads to ${place}: check its own network`,
  ECONNRESET: ({ place }) => `${place} closed the connection: it may be starting, require TLS, or refuse this machine; see its log`,
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

const ownRoot = 'If your own authority signed it, set NODE_EXTRA_CA_CERTS to its root certificate';
const certificateSentences: Record<string, Sentence> = {
  CERT_HAS_EXPIRED: () => 'The certificate of the server has expired: renew it there',
  CERT_NOT_YET_VALID: () => 'The certificate of the server is not valid yet: check the clocks of both machines',
  CERT_REVOKED: () => 'The certificate of the server was revoked: install a new one there',
  DEPTH_ZERO_SELF_SIGNED_CERT: () => `The certificate of the server is self-signed, and not trusted here. ${ownRoot}`,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: () =>
    `The authority that signed the certificate of the server is not trusted here, or the server does not send its whole chain. ${ownRoot}`,
  ERR_TLS_CERT_ALTNAME_INVALID: ({ message }) =>
    `The certificate of the server is for another name (${message.replace(/^.*?altnames: /s, '')}): connect by one of its names`,
  EPROTO: () => 'The server does not use TLS at this port: check the port, or use the address without TLS',
  ERR_OSSL_X509_KEY_VALUES_MISMATCH: () => 'Certificate and key do not match: use the key of this certificate',
  ERR_OSSL_PEM_NO_START_LINE: () => 'The file contains no certificate or key in PEM ("-----BEGIN ...")',
};

const lacksRight = 'Make the user of TILLGATE_DATABASE_URL the owner of the database and of its tables (ALTER DATABASE ... OWNER TO ...)';
/** By SQLSTATE; PostgreSQL's own message names the table, the user or the database. */
const postgresSentences: Record<string, Sentence> = {
  '42501': ({ message }) => `PostgreSQL says: ${message}. ${lacksRight}`,
  '28P01': ({ message }) => `PostgreSQL says: ${message}. Check user and password in TILLGATE_DATABASE_URL`,
  '28000': ({ message }) =>
    `PostgreSQL says: ${message}. Check the user in TILLGATE_DATABASE_URL, and that pg_hba.conf allows it from this machine`,
  '3D000': ({ message }) => `PostgreSQL says: ${message}. Create it (createdb), or set another one in TILLGATE_DATABASE_URL`,
  '53300': ({ message }) => `PostgreSQL says: ${message}. Raise max_connections, or lower TILLGATE_DATABASE_CONNECTIONS`,
  '53100': ({ message }) => `PostgreSQL says: ${message}. Free some space on its disk`,
  '57P03': ({ message }) => `PostgreSQL says: ${message}. Try again in a moment`,
  '25006': () => 'This PostgreSQL is a standby, or is set to read-only: set TILLGATE_DATABASE_URL to the primary',
};

/** By primary result code. */
const sqliteSentences: Record<string, Sentence> = {
  8: () => 'The database file is not writable: the file and its directory must belong to the user that Tillgate runs as',
  10: () => "The disk of the database file fails: check the system's log (dmesg), and do not use the disk until it is repaired",
  11: () => 'The database file is damaged: move it away and restore the last backup (docs/operating.md, Backup)',
  13: () => 'The disk of the database file is full: free some space. Acknowledged data is not lost',
  14: () => 'A file in TILLGATE_DATA_DIR cannot be opened: the directory must exist and belong to the user that Tillgate runs as',
  26: () =>
    'The database file is not an SQLite file: set another TILLGATE_DATA_DIR, or restore the last backup (docs/operating.md, Backup)',
};

const bySystem = { ...fileSentences, ...networkSentences, ...certificateSentences, ...postgresSentences };
const deepestCause = 8;

/** The sentence for the first error in the chain of causes that is in the tables. Undefined: a bug, or an unknown error. */
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
