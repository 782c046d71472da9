import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { SURFACES } from '../../../src/dialects/surfaces.ts';
import { documentedFamilies } from '../../docs/metrics-page.ts';
import { CHART, chartHash, manifestsOf, NO_VERSION, RENDERINGS, renderedFile } from './chart/rendered.ts';
import { faultsOfManifests, yamlOf } from './manifests.ts';

/** The chart as Helm renders it. No cluster runs in the tests. */
const names = Object.keys(RENDERINGS);
const values = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8'));
const company = manifestsOf('company');
const one = manifestsOf('one-server');
const files = manifestsOf('files');
const SELECTOR = { 'app.kubernetes.io/name': 'signalbox', 'app.kubernetes.io/instance': 'signalbox' };

/** Replaces the selector of a release by the selector of the plain manifests. */
const plain = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value).replaceAll(JSON.stringify(SELECTOR), '{"app.kubernetes.io/name":"signalbox"}'));

describe.each(names)('The chart with the values %s', (name) => {
  test('was rendered from the present files (`UPDATE=1 npm run test:deep -- chart`)', () => {
    expect(readFileSync(renderedFile(name), 'utf8').split('\n', 1)[0]).toBe(`# ${chartHash(name)}`);
  });

  test('follows the schemas of Kubernetes', () => {
    expect(faultsOfManifests(readFileSync(renderedFile(name), 'utf8'))).toEqual([]);
  });

  test('selects the servers everywhere, and no Job', () => {
    const { Service, NetworkPolicy, PodDisruptionBudget, StatefulSet, Deployment, Job } = manifestsOf(name);
    const { spec } = StatefulSet ?? Deployment;
    expect(spec.template.metadata.labels).toEqual(SELECTOR);
    for (const selector of [
      spec.selector.matchLabels,
      Service.spec.selector,
      NetworkPolicy.spec.podSelector.matchLabels,
      PodDisruptionBudget.spec.selector.matchLabels,
    ])
      expect(selector).toEqual(SELECTOR);
    if (Job) expect(Job.spec.template.metadata.labels['app.kubernetes.io/name']).not.toBe('signalbox');
  });
});

test('the check of rendered manifests finds an unknown field', () => {
  const text = readFileSync(renderedFile('company'), 'utf8');
  expect(faultsOfManifests(text.replace('averageValue', 'meanValue')).join()).toContain('meanValue');
  expect(faultsOfManifests(text.replace('pathType', 'pathKind')).join()).toContain('pathKind');
});

test('several servers run the same Pod and migrate with the same Job as deploy/kubernetes/postgresql', () => {
  const { spec } = yamlOf('deploy/kubernetes/postgresql/deployment.yaml');
  const ours = company.Deployment.spec;
  const image = `registry.example.com/signalbox:${NO_VERSION}`;
  const expected = structuredClone(spec.template);
  expected.spec.containers[0].image = image;
  expect(plain(ours.template)).toEqual(expected);
  expect(ours.strategy).toEqual(spec.strategy);
  // The autoscaler sets the number.
  expect(ours.replicas).toBeUndefined();
  const job = yamlOf('deploy/kubernetes/postgresql/migration.yaml').spec;
  const [container] = company.Job.spec.template.spec.containers;
  expect(container).toEqual({ ...job.template.spec.containers[0], image });
  expect(company.Job.metadata.annotations['helm.sh/hook']).toBe('pre-upgrade');
});

test('one server runs the same Pod as deploy/kubernetes, with the policy of the image', () => {
  const { spec } = yamlOf('deploy/kubernetes/statefulset.yaml');
  const expected = structuredClone(spec.template);
  const [container] = expected.spec.containers;
  container.image = `signalbox:${NO_VERSION}`;
  delete container.env;
  const isPolicies = ({ name }: { name: string }) => name === 'policies';
  container.volumeMounts = container.volumeMounts.filter((mount: { name: string }) => !isPolicies(mount));
  expected.spec.volumes = expected.spec.volumes.filter((volume: { name: string }) => !isPolicies(volume));
  expect(plain(one.StatefulSet.spec.template)).toEqual(expected);
  expect(one.StatefulSet.spec.replicas).toBe(1);
  expect(one.StatefulSet.spec.volumeClaimTemplates).toEqual(spec.volumeClaimTemplates);
  expect([one.Ingress, one.HorizontalPodAutoscaler, one.Job, one.Secret]).toEqual(Array(4).fill(undefined));
});

test('the chart scales on requests in flight, a metric of Signalbox, within the connections of PostgreSQL', () => {
  const { metrics, maxReplicas, minReplicas, scaleTargetRef } = company.HorizontalPodAutoscaler.spec;
  expect(metrics).toEqual([
    {
      type: 'Pods',
      pods: { metric: { name: 'signalbox_requests_open' }, target: { type: 'AverageValue', averageValue: '1000' } },
    },
  ]);
  expect(documentedFamilies.map(({ name }) => name)).toContain(metrics[0].pods.metric.name);
  expect([minReplicas >= 2, maxReplicas]).toEqual([
    true,
    yamlOf('deploy/kubernetes/postgresql/autoscaler.yaml').spec.maxReplicas,
  ]);
  expect(scaleTargetRef.name).toBe(company.Deployment.metadata.name);
});

test('the ingress serves each path of the API, and not the metrics', () => {
  const paths: readonly string[] = company.Ingress.spec.rules[0].http.paths.map(({ path }: { path: string }) => path);
  const isServed = (path: string) => paths.some((prefix) => path === prefix || path.startsWith(`${prefix}/`));
  const routes = SURFACES.flatMap((surface) => surface.routes.map(({ path }) => path));
  expect(routes.length).toBeGreaterThan(5);
  expect(
    [...routes, '/console', '/admin/keys', '/docs/guide', '/llms.txt', '/.well-known/x402'].filter(
      (path) => !isServed(path),
    ),
  ).toEqual([]);
  expect(isServed('/metrics')).toBe(false);
  expect(company.Ingress.spec.tls).toEqual([{ secretName: 'llm-example-com', hosts: ['llm.example.com'] }]);
});

test('policy files and keys in the values become a ConfigMap and a Secret with exactly their texts', () => {
  const given = parse(readFileSync(RENDERINGS.files![0]!, 'utf8'));
  expect(files.ConfigMap.data).toEqual(given.policies.files);
  expect(files.Secret.stringData).toEqual(given.keys.values);
  const { spec, metadata } = files.StatefulSet.spec.template;
  const [container] = spec.containers;
  expect(container.envFrom).toEqual([{ secretRef: { name: files.Secret.metadata.name, optional: true } }]);
  expect(spec.volumes).toContainEqual({ name: 'policies', configMap: { name: files.ConfigMap.metadata.name } });
  expect(container.env).toEqual([{ name: 'SIGNALBOX_POLICIES', value: '/policies' }, ...given.env]);
  expect(container.image).toBe('signalbox:1.2.3');
  expect(spec.imagePullSecrets).toEqual([{ name: 'registry' }]);
  // A change of a key must replace the Pod.
  expect(metadata.annotations['signalbox/keys']).toMatch(/^[0-9a-f]{64}$/);
  expect(files.NetworkPolicy.spec.egress).toContainEqual(given.networkPolicy.egress[0]);
});

test('the schema of the values has each value of values.yaml', () => {
  const schema = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8'));
  expect(Object.keys(values).filter((key) => !Object.hasOwn(schema.properties, key))).toEqual([]);
  for (const [key, value] of Object.entries(values)) {
    const { properties } = schema.properties[key];
    if (properties) expect(Object.keys(properties)).toEqual(Object.keys(Object(value)));
  }
});
