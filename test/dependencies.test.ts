// What is installed with Tillgate: nothing that reports installations to a third party, and the list of packages that a release publishes.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { aboutTillgate, type Sbom } from '../scripts/sbom.ts';

interface LockedPackage {
  resolved?: string;
  link?: boolean;
  dev?: boolean;
  devOptional?: boolean;
  hasInstallScript?: boolean;
  dependencies?: Record<string, string>;
}

const read = (path: string) => JSON.parse(readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')) as Record<string, unknown>;
const locked = read('package-lock.json')['packages'] as Record<string, LockedPackage>;

describe('the dependencies', () => {
  it('hold no @scarf/scarf but our empty workspace', () => {
    const found = Object.entries(locked).filter(([path]) => /(^|\/)@scarf\/scarf$/.test(path));
    expect(found).toEqual([['node_modules/@scarf/scarf', { resolved: 'scripts/no-scarf', link: true }]]);
    const empty = read('scripts/no-scarf/package.json');
    // No script, no program, no file to load.
    expect(Object.keys(empty).sort()).toEqual(['description', 'name', 'private', 'version']);
  });

  it('bring it by the reference of the API alone, which only our own build installs', () => {
    const askers = Object.entries(locked).filter(([, { dependencies }]) => dependencies?.['@scarf/scarf'] !== undefined);
    expect(askers.map(([path]) => path)).toEqual(['node_modules/swagger-ui-dist']);
    const { dependencies } = read('package.json') as { dependencies: Record<string, string> };
    expect(Object.keys(dependencies).filter((name) => /scarf|swagger-ui/.test(name))).toEqual([]);
    // The build of the cabinet copies its files: a package that is installed brings these and not it.
    expect((read('web/package.json') as { dependencies: Record<string, string> }).dependencies).toHaveProperty('swagger-ui-dist');
  });

  it('run scripts at installation where package.json allows it, and nowhere else', () => {
    const { allowScripts } = read('package.json') as { allowScripts: Record<string, boolean> };
    const withScripts = Object.entries(locked).filter(
      ([, { hasInstallScript, dev, devOptional }]) => hasInstallScript === true && dev !== true && devOptional !== true,
    );
    const names = withScripts.map(([path]) => path.replace(/^.*node_modules\//, ''));
    expect(names.filter((name) => allowScripts[name] !== true)).toEqual([]);
  });
});

describe('the list of what an installation holds', () => {
  const sbom = (...names: string[]): Sbom => ({
    metadata: { component: { 'bom-ref': 'empty@1.0.0', name: 'empty' } },
    components: [
      {
        'bom-ref': 'tillgate@1.2.3',
        name: 'tillgate',
        externalReferences: [
          { type: 'distribution', url: 'file:/home/somebody/tillgate-1.2.3.tgz' },
          { type: 'vcs', url: 'https://example.org/tillgate' },
        ],
      },
      ...names.map((name) => ({ 'bom-ref': `${name}@1.0.0`, name })),
    ],
    dependencies: [
      { ref: 'empty@1.0.0', dependsOn: ['tillgate@1.2.3'] },
      { ref: 'tillgate@1.2.3', dependsOn: names.map((name) => `${name}@1.0.0`) },
    ],
  });

  it('is about Tillgate, and names neither the directory nor a path of the machine that made it', () => {
    expect(aboutTillgate(sbom('fastify'))).toEqual({
      metadata: {
        component: {
          ...{ 'bom-ref': 'tillgate@1.2.3', name: 'tillgate' },
          externalReferences: [{ type: 'vcs', url: 'https://example.org/tillgate' }],
        },
      },
      components: [{ 'bom-ref': 'fastify@1.0.0', name: 'fastify' }],
      dependencies: [{ ref: 'tillgate@1.2.3', dependsOn: ['fastify@1.0.0'] }],
    });
  });

  it.each(['@scarf/scarf', 'swagger-ui-dist'])('is refused with %s in it, and without Tillgate', (name) => {
    expect(() => aboutTillgate(sbom('fastify', name))).toThrow(`The installation holds ${name}.`);
    expect(() => aboutTillgate({ ...sbom(), components: [] })).toThrow('does not hold Tillgate');
  });
});
