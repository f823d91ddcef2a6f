// Holds a Kubernetes object against the schemas that the package `kubernetes-models` was made from. They say what a field must be, and
// nothing about fields that do not exist. So it is noted which fields the check has looked at: the others are misspelt.

import { validate as deployment } from 'kubernetes-models/_schemas/IoK8sApiAppsV1Deployment';
import { validate as configMap } from 'kubernetes-models/_schemas/IoK8sApiCoreV1ConfigMap';
import { validate as secret } from 'kubernetes-models/_schemas/IoK8sApiCoreV1Secret';
import { validate as service } from 'kubernetes-models/_schemas/IoK8sApiCoreV1Service';
import { validate as serviceAccount } from 'kubernetes-models/_schemas/IoK8sApiCoreV1ServiceAccount';
import { validate as ingress } from 'kubernetes-models/_schemas/IoK8sApiNetworkingV1Ingress';
import { validate as disruptionBudget } from 'kubernetes-models/_schemas/IoK8sApiPolicyV1PodDisruptionBudget';

type Validate = ((data: unknown) => boolean) & { errors?: { instancePath: string; keyword: string }[] | null };

const schemas: Record<string, Validate> = {
  'apps/v1 Deployment': deployment,
  'networking.k8s.io/v1 Ingress': ingress,
  'policy/v1 PodDisruptionBudget': disruptionBudget,
  'v1 ConfigMap': configMap,
  'v1 Secret': secret,
  'v1 Service': service,
  'v1 ServiceAccount': serviceAccount,
};

export interface Manifest {
  apiVersion: string;
  kind: string;
  [field: string]: any;
}

/** What is wrong with it, one line each. */
export function problemsOf(manifest: Manifest): string[] {
  const validate = schemas[`${manifest.apiVersion} ${manifest.kind}`];
  if (validate === undefined) return [`${manifest.apiVersion} ${manifest.kind} has no schema here`];
  const looked = new Set<string>();
  const wrong = validate(watched(manifest, '', looked)) ? [] : (validate.errors ?? []);
  return [
    ...wrong.map(({ instancePath, keyword }) => `${instancePath || '/'} fails ${keyword}`),
    ...fieldsOf(manifest, '')
      .filter((path) => !looked.has(path))
      .map((path) => `${path} is no field`),
  ];
}

function watched(value: unknown, path: string, looked: Set<string>): unknown {
  if (value === null || typeof value !== 'object') return value;
  return new Proxy(value, {
    get(target, name) {
      const inner: unknown = Reflect.get(target, name);
      if (typeof name === 'symbol' || !Object.hasOwn(target, name)) return inner;
      looked.add(`${path}/${name}`);
      return watched(inner, `${path}/${name}`, looked);
    },
  });
}

function fieldsOf(value: unknown, path: string): string[] {
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([name, inner]) => [`${path}/${name}`, ...fieldsOf(inner, `${path}/${name}`)]);
}
