// Adds to package-lock.json the optional platform binaries that the registry in use did not offer.
// Without these entries `npm ci` refuses the lockfile in a fresh clone (EUSAGE "Missing: ... from lock file").
// Run after every dependency change: npm run lockfile
import { readFileSync, writeFileSync } from 'node:fs';

interface LockEntry {
  version?: string;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
}

const file = new URL('../package-lock.json', import.meta.url);
const lock = JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, LockEntry> };
const systems = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32', 'wasi', 'aix', 'sunos', 'netbsd', 'openbsd'];
const processors = ['arm64', 'x64', 'ia32', 'arm', 'ppc64', 'riscv64', 's390x', 'wasm32', 'loong64', 'mips64el'];

function isLocked(parent: string, name: string): boolean {
  for (let place = parent; ; place = place.slice(0, place.lastIndexOf('/node_modules/'))) {
    if (lock.packages[`${place === '' ? '' : `${place}/`}node_modules/${name}`]) return true;
    if (!place.includes('/node_modules/')) return lock.packages[`node_modules/${name}`] !== undefined;
  }
}

let added = 0;
for (const [place, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    if (isLocked(place, name)) continue;
    const words = name.split(/[-/]/);
    const os = systems.find((system) => words.includes(system));
    const cpu = processors.find((processor) => words.includes(processor));
    if (!os && !cpu) continue;
    const libc = words.some((word) => word.startsWith('musl'))
      ? 'musl'
      : words.some((word) => word.startsWith('gnu'))
        ? 'glibc'
        : undefined;
    const home = place.slice(0, place.lastIndexOf('node_modules/'));
    lock.packages[`${home}node_modules/${name}`] = {
      version: version.replace(/^[\^~]/, ''),
      optional: true,
      ...(entry.dev ? { dev: true } : {}),
      ...(os && os !== 'wasi' ? { os: [os] } : {}),
      ...(cpu ? { cpu: [cpu] } : {}),
      ...(libc && os === 'linux' ? { libc: [libc] } : {}),
    };
    added += 1;
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`package-lock.json: ${added} optional platform entries added`);
