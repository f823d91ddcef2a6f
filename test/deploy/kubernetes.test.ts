// deploy/kubernetes: every object fits the schemas of Kubernetes, names settings that exist, and what it promises fits the gateway's own times.
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { readConfig } from '../../src/config.ts';
import { settings } from '../../src/settings.ts';
import { type Manifest, problemsOf } from './manifest-check.ts';

const directory = fileURLToPath(new URL('../../deploy/kubernetes/', import.meta.url));
const manifests = globSync('*.yaml', { cwd: directory })
  .sort()
  .flatMap((file) => parseAllDocuments(readFileSync(`${directory}${file}`, 'utf8')).map((document) => document.toJS() as Manifest));
const find = (kind: string) => manifests.find((manifest) => manifest.kind === kind) as Manifest;
const deployment = find('Deployment');
const pod = deployment['spec'].template.spec;
const container = pod.containers[0];
/** With values of one's own in the Secret: serve refuses the samples. */
const secret = JSON.parse(JSON.stringify(find('Secret')['stringData']).replaceAll('change-me', '4fd0c1b7a69e2385')) as Record<
  string,
  string
>;
const environment: Record<string, string> = { ...find('ConfigMap')['data'], ...secret };

describe('the manifests', () => {
  it.each(manifests.map((manifest) => [manifest.kind, manifest] as const))('have a %s that fits its schema', (_kind, manifest) => {
    expect(problemsOf(manifest)).toEqual([]);
  });

  it('would be found wrong if they were', () => {
    const broken = (change: (copy: Manifest) => void) => {
      const copy = structuredClone(deployment);
      change(copy);
      return problemsOf(copy);
    };
    expect(broken((copy) => (copy['spec'].replicas = 'two'))).toEqual(['/spec/replicas fails type']);
    expect(broken((copy) => delete copy['spec'].selector)).toEqual(['/spec fails required']);
    const misspelt = (copy: Manifest) => (copy['spec'].template.spec.containers[0].readynessProbe = {});
    expect(broken(misspelt)).toEqual(['/spec/template/spec/containers/0/readynessProbe is no field']);
  });

  it('set only what exists, to what serve starts with', () => {
    const known = new Set<string>(Object.values(settings).map(({ variable }) => variable));
    expect(Object.keys(environment).filter((variable) => !known.has(variable))).toEqual([]);
    expect(readConfig('serve', environment)).toMatchObject({ mode: 'serve', warnings: [] });
  });

  it('keep out the variables of Services, one of which has the name of a setting', () => {
    expect(pod.enableServiceLinks).toBe(false);
    const [port, prefix] = [8080, find('Service')['metadata'].name.toUpperCase()];
    expect(() => readConfig('serve', { ...environment, [`${prefix}_PORT`]: `tcp://10.0.0.1:${port}` })).toThrow(
      /enableServiceLinks: false/,
    );
  });

  it('give a pod longer to end than the gateway takes', () => {
    const { drainS, stopGraceS } = readConfig('serve', environment);
    // After the grace: last answers, callbacks in flight, traces.
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(drainS + stopGraceS + 15);
    // Endpoints learn that it is not ready before the listener closes.
    const { periodSeconds, failureThreshold } = container.readinessProbe;
    expect(drainS).toBeGreaterThan(periodSeconds * failureThreshold);
  });

  it('probe what is there for it, at the port of the gateway', () => {
    const { port, basePath } = readConfig('serve', environment);
    expect(container.ports).toEqual([{ name: 'http', containerPort: port }]);
    expect(container.livenessProbe.httpGet).toEqual({ path: `${basePath}/health/live`, port: 'http' });
    // Once it could work, it gets calls until it stops: without a database it answers 2, and an ingress without pods an HTML page [D290].
    expect(container.startupProbe.httpGet).toEqual({ path: `${basePath}/health/ready`, port: 'http' });
    expect(container.readinessProbe.httpGet).toEqual({ path: `${basePath}/health/accepting`, port: 'http' });
  });

  it('run as an unprivileged user on a read-only root', () => {
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(container.volumeMounts.map(({ mountPath }: { mountPath: string }) => mountPath)).toContain(environment['TILLGATE_DATA_DIR']);
  });

  it('leave one instance when a node is emptied, and belong together', () => {
    const labels = deployment['spec'].template.metadata.labels;
    expect(deployment['spec'].selector.matchLabels).toEqual(labels);
    expect(find('Service')['spec'].selector).toEqual(labels);
    expect(find('PodDisruptionBudget')['spec']).toEqual({ minAvailable: 1, selector: { matchLabels: labels } });
    expect(deployment['spec'].replicas).toBeGreaterThan(1);
  });
});
