// `npm run sbom`: the packages of an installation of this version, as a CycloneDX list. Packs Tillgate, installs the tarball into an empty
// directory without running package scripts, and asks npm. Writes tillgate-x.y.z.tgz and tillgate-x.y.z.cdx.json into the given
// directory, or the current one. Needs the npm registry.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

interface Component {
  'bom-ref': string;
  name: string;
  externalReferences?: { type: string; url: string }[];
}

export interface Sbom {
  metadata: { component: Component };
  components: Component[];
  dependencies: { ref: string; dependsOn?: string[] }[];
}

/** Reports each installation to a third party, or depends on a package that does. */
const unwanted = ['@scarf/scarf', 'swagger-ui-dist'];

/**
 * The list is about Tillgate, not about the empty directory that it was installed into, and names no path of this machine. Throws when the
 * installation contains a forbidden package.
 */
export function aboutTillgate(sbom: Sbom): Sbom {
  const found = sbom.components.filter(({ name }) => unwanted.includes(name)).map(({ name }) => name);
  if (found.length > 0) throw new Error(`The installation holds ${found.join(' and ')}.`);
  const own = sbom.components.find(({ name }) => name === 'tillgate');
  if (own === undefined) throw new Error('The list does not hold Tillgate.');
  const directory = sbom.metadata.component['bom-ref'];
  const externalReferences = (own.externalReferences ?? []).filter(({ url }) => !url.startsWith('file:'));
  return {
    ...sbom,
    metadata: { ...sbom.metadata, component: { ...own, externalReferences } },
    components: sbom.components.filter((component) => component !== own),
    dependencies: sbom.dependencies.filter(({ ref }) => ref !== directory),
  };
}

function main(target: string): void {
  mkdirSync(target, { recursive: true });
  const npm = (args: string[], cwd?: string) => execFileSync('npm', args, { encoding: 'utf8', cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  const tarball = npm(['pack', '--silent', '--pack-destination', target]).trim().split('\n').at(-1) ?? '';
  const empty = mkdtempSync(join(tmpdir(), 'tillgate-sbom-'));
  try {
    npm(['init', '-y'], empty);
    npm(['install', '--ignore-scripts', '--no-audit', join(target, tarball)], empty);
    const list = aboutTillgate(JSON.parse(npm(['sbom', '--sbom-format', 'cyclonedx'], empty)) as Sbom);
    const file = join(target, tarball.replace(/\.tgz$/, '.cdx.json'));
    writeFileSync(file, `${JSON.stringify(list, null, 2)}\n`);
    console.log(`${file} lists ${list.components.length} packages.`);
  } finally {
    rmSync(empty, { recursive: true, force: true });
  }
}

if (import.meta.main) main(resolve(process.argv[2] ?? '.'));
