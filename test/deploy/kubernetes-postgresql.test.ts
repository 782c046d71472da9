import { describe, expect, test } from 'bun:test';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseCommand } from '../../src/cli/options.ts';
import { temporaryFolder } from '../support/signalbox.ts';
import { faultsOfManifests, textOf, yamlOf } from './manifests.ts';

const ABOVE = 'deploy/kubernetes';
const FOLDER = `${ABOVE}/postgresql`;
const files = readdirSync(join(import.meta.dir, '../..', FOLDER)).filter((file) => file.endsWith('.yaml'));
const kustomization = yamlOf(`${FOLDER}/kustomization.yaml`);
const deployment = yamlOf(`${FOLDER}/deployment.yaml`);
const job = yamlOf(`${FOLDER}/migration.yaml`);
const autoscaler = yamlOf(`${FOLDER}/autoscaler.yaml`);
const secret = yamlOf(`${FOLDER}/secret.example.yaml`);
const pod = deployment.spec.template.spec;
const single = yamlOf(`${ABOVE}/statefulset.yaml`).spec.template;
const [server] = pod.containers;
const [migration] = job.spec.template.spec.containers;

/** The connections that a server keeps at its database: see `PostgresReaders` and the fault of SQLSTATE 53300. */
const CONNECTIONS = 9;

describe('The manifests of deploy/kubernetes/postgresql', () => {
  test.each(files.filter((file) => file !== 'kustomization.yaml'))('%s keeps the schemas of Kubernetes', (file) => {
    expect(faultsOfManifests(textOf(`${FOLDER}/${file}`))).toEqual([]);
  });

  test.each([
    ['deployment.yaml', 'maxUnavailable: 0', 'maxUnavailables: 0', 'maxUnavailables: unknown field'],
    ['deployment.yaml', 'sleep: { seconds: 5 }', 'sleep: { seconds: 5s }', 'seconds: type {"type":"integer"}'],
    ['autoscaler.yaml', 'averageUtilization', 'averageUsage', 'averageUsage: unknown field'],
    ['autoscaler.yaml', 'maxReplicas: 8', 'maxReplicas: eight', 'maxReplicas: type {"type":"integer"}'],
    ['migration.yaml', 'restartPolicy: OnFailure', 'restartPolicy: Once', 'restartPolicy: enum'],
  ])('%s with a mistake is found out: %s', (file, from, to, fault) => {
    const text = textOf(`${FOLDER}/${file}`);
    expect(text).toContain(from);
    expect(faultsOfManifests(text.replace(from, to)).join('\n')).toContain(fault);
  });

  test('are all applied but the Secret, with those of one server that are the same', () => {
    const own = kustomization.resources.filter((path: string) => !path.startsWith('../'));
    expect([...own, 'kustomization.yaml', 'secret.example.yaml'].sort()).toEqual(files.sort());
    const shared = kustomization.resources.filter((path: string) => path.startsWith('../'));
    const ofOne: string[] = yamlOf(`${ABOVE}/kustomization.yaml`).resources;
    expect(shared.sort()).toEqual(
      ofOne
        .filter((path) => path !== 'statefulset.yaml')
        .map((path) => `../${path}`)
        .sort(),
    );
  });

  test('bring the policy as that of one server does', () => {
    const { configMapGenerator, generatorOptions, images, labels, namespace } = yamlOf(`${ABOVE}/kustomization.yaml`);
    const [{ name, files: policies }] = configMapGenerator;
    expect(kustomization).toMatchObject({ generatorOptions, images, labels, namespace });
    expect(kustomization.configMapGenerator).toEqual([{ name, files: policies.map((file: string) => `../${file}`) }]);
    expect(pod.volumes).toContainEqual({ name: 'policies', configMap: { name } });
  });

  test('run the servers as the manifests of one do, with no more rights', () => {
    const [one] = single.spec.containers;
    const { fsGroupChangePolicy: _, ...security } = single.spec.securityContext;
    for (const spec of [pod, job.spec.template.spec]) {
      expect(spec.securityContext).toEqual(security);
      expect(spec).toMatchObject({ serviceAccountName: 'signalbox', automountServiceAccountToken: false });
    }
    for (const { securityContext } of [server, migration]) expect(securityContext).toEqual(one.securityContext);
    for (const key of ['ports', 'startupProbe', 'readinessProbe', 'livenessProbe', 'envFrom'])
      expect(server[key]).toEqual(one[key]);
    expect(deployment.spec.template.metadata).toEqual(single.metadata);
  });

  test('have a server give up its requests before it ends, and a new one ready before that', () => {
    const before = single.spec.terminationGracePeriodSeconds;
    expect(pod.terminationGracePeriodSeconds).toBe(before + server.lifecycle.preStop.sleep.seconds);
    expect(deployment.spec.strategy.rollingUpdate).toEqual({ maxSurge: 1, maxUnavailable: 0 });
    // A drain of a node takes one server at a time.
    expect(yamlOf(`${ABOVE}/disruption.yaml`).spec.maxUnavailable).toBe(1);
  });

  test('leave the number of servers to the autoscaler, within the connections that PostgreSQL has by itself', () => {
    expect(deployment.spec.replicas).toBeUndefined();
    const { scaleTargetRef, minReplicas, maxReplicas } = autoscaler.spec;
    expect(scaleTargetRef).toEqual({ apiVersion: 'apps/v1', kind: deployment.kind, name: deployment.metadata.name });
    expect(minReplicas).toBeGreaterThanOrEqual(2);
    const usable = 100 - 3;
    expect(CONNECTIONS * (maxReplicas + deployment.spec.strategy.rollingUpdate.maxSurge)).toBeLessThan(usable);
  });

  test('send requests to servers alone, and let both reach the database', () => {
    const { labels } = deployment.spec.template.metadata;
    const ofJob = job.spec.template.metadata.labels;
    expect(yamlOf(`${ABOVE}/service.yaml`).spec.selector).toEqual(labels);
    expect(deployment.spec.selector.matchLabels).toEqual(labels);
    expect(ofJob).not.toEqual(labels);
    const [{ key, values }] = yamlOf(`${FOLDER}/database.yaml`).spec.podSelector.matchExpressions;
    expect(values).toEqual([labels[key], ofJob[key]]);
    for (const { labelSelector } of pod.topologySpreadConstraints) expect(labelSelector.matchLabels).toEqual(labels);
  });

  test.each([
    ['a server', pod, server, 'server', ['serve']],
    ['the migration', job.spec.template.spec, migration, 'owner', ['db', 'migrate']],
  ] as const)(
    'give %s its own user of the database, as the program understands it',
    (_, spec, container, key, args) => {
      const folder = temporaryFolder();
      const url = `postgres://${key}@db.example/signalbox`;
      writeFileSync(join(folder, key), url);
      const { value } = container.env.find(({ name }: { name: string }) => name === 'DATABASE_URL_FILE');
      const { mountPath, name } = container.volumeMounts.find(
        (mount: { mountPath: string }) => mount.mountPath === dirname(value),
      );
      expect(spec.volumes).toContainEqual({
        name,
        secret: { secretName: secret.metadata.name, items: [{ key, path: key }] },
      });
      expect(Object.keys(secret.stringData)).toContain(key);
      const env = { DATABASE_URL_FILE: value.replace(mountPath, folder) };
      expect(container.args ?? ['serve']).toEqual([...args]);
      expect(JSON.stringify(parseCommand([...args], env, () => 'policies'))).toContain(url);
      rmSync(folder, { recursive: true });
    },
  );

  test('hold no secret', () => {
    expect(Object.values(secret.stringData).every((value) => value === '')).toBe(true);
    expect(secret.metadata.namespace).toBe(kustomization.namespace);
  });
});
