import { describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseCommand } from '../../../src/cli/options.ts';
import { policiesAt } from '../../support/policies.ts';
import { faultsOfManifests, textOf, yamlOf } from './manifests.ts';

/**
 * The deployment of several servers that share one PostgreSQL database, and the deployment of a single server, whose manifests it reuses.
 */
const ONE = 'deploy/kubernetes';
const FOLDER = `${ONE}/postgresql`;
/** The connections that a server and a command use (docs/operate/postgresql.md), and PostgreSQL's default limit. */
const [OF_SERVER, OF_COMMAND, CONNECTIONS_MAX] = [9, 6, 100];

const files = readdirSync(join(import.meta.dir, '../../..', FOLDER));
const kustomization = yamlOf(`${FOLDER}/kustomization.yaml`);
const deployment = yamlOf(`${FOLDER}/deployment.yaml`);
const template = deployment.spec.template;
const [server] = template.spec.containers;
const set = yamlOf(`${ONE}/statefulset.yaml`).spec.template;
const [alone] = set.spec.containers;
const autoscaler = yamlOf(`${FOLDER}/autoscaler.yaml`).spec;
const job = yamlOf(`${FOLDER}/migration.yaml`).spec.template;
const [migration] = job.spec.containers;

describe('The manifests of deploy/kubernetes/postgresql', () => {
  test.each(files.filter((file) => file !== 'kustomization.yaml'))('%s follows the schemas of Kubernetes', (file) => {
    expect(faultsOfManifests(textOf(`${FOLDER}/${file}`))).toEqual([]);
  });

  test.each([
    ['deployment', 'matchLabelKeys', 'matchLabelKey', 'topologySpreadConstraints/0/matchLabelKey: unknown field'],
    ['deployment', 'sleep: { seconds: 5 }', 'sleep: 5s', 'preStop/sleep: type {"type":"object"}'],
    ['autoscaler', 'minReplicas: 2', 'minReplicas: two', 'minReplicas: type {"type":"integer"}'],
    ['autoscaler', 'averageUtilization', 'averageUsage', 'target/averageUsage: unknown field'],
    ['migration', 'backoffLimit', 'backOffLimit', 'spec/backOffLimit: unknown field'],
  ])('the check finds %s.yaml with %s set to %s', (file, from, to, fault) => {
    const text = textOf(`${FOLDER}/${file}.yaml`);
    expect(text).toContain(from);
    expect(faultsOfManifests(text.replace(from, to)).join('\n')).toContain(fault);
  });

  test('apply all their files, except the example of a Secret, and the fitting files of the single server', () => {
    const own = kustomization.resources.filter((file: string) => !file.startsWith('../'));
    expect([...own, 'kustomization.yaml', 'secret.example.yaml'].sort()).toEqual(files.sort());
    const shared = kustomization.resources.filter((file: string) => file.startsWith('../'));
    const { resources, ...asOne } = yamlOf(`${ONE}/kustomization.yaml`);
    const replaced = ['statefulset.yaml', 'disruption.yaml'];
    expect(shared.map((file: string) => file.slice(3)).sort()).toEqual(
      resources.filter((file: string) => !replaced.includes(file)).sort(),
    );
    // The namespace, the image, its version and the policy are the same.
    const up = JSON.parse(JSON.stringify(asOne).replaceAll('../../policies/', '../../../policies/'));
    const { resources: _, ...theirs } = kustomization;
    expect(theirs).toEqual(up);
  });

  test('replace a server only after another is ready, and send no request to a stopping server', () => {
    expect(deployment.spec.strategy).toEqual({ rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } });
    const { seconds } = server.lifecycle.preStop.sleep;
    expect(seconds).toBeGreaterThanOrEqual(5);
    // The time that one server has to stop, plus the time before it gets the signal.
    expect(template.spec.terminationGracePeriodSeconds).toBe(set.spec.terminationGracePeriodSeconds + seconds);
    expect(yamlOf(`${FOLDER}/disruption.yaml`).spec.maxUnavailable).toBeLessThan(autoscaler.minReplicas);
  });

  test('run at least two servers, on different nodes if possible, within the connection limit of PostgreSQL', () => {
    expect(deployment.spec.replicas).toBeUndefined();
    expect(autoscaler.scaleTargetRef).toEqual({
      apiVersion: deployment.apiVersion,
      kind: deployment.kind,
      name: deployment.metadata.name,
    });
    expect(autoscaler.minReplicas).toBeGreaterThanOrEqual(2);
    const servers = autoscaler.maxReplicas + deployment.spec.strategy.rollingUpdate.maxSurge;
    expect(servers * OF_SERVER + OF_COMMAND).toBeLessThan(CONNECTIONS_MAX);
    const [spread] = template.spec.topologySpreadConstraints;
    expect(spread.labelSelector.matchLabels).toEqual(deployment.spec.selector.matchLabels);
  });

  test('run the same Pod as the single server, except for its database, its CPU and its stop', () => {
    const {
      volumes,
      terminationGracePeriodSeconds: _,
      topologySpreadConstraints: __,
      containers,
      ...rest
    } = template.spec;
    const { volumes: ofSet, terminationGracePeriodSeconds: ___, containers: ____, ...restOfSet } = set.spec;
    expect(rest).toEqual(restOfSet);
    expect(template.metadata).toEqual(set.metadata);
    expect(containers).toHaveLength(1);
    const { lifecycle: _____, env, resources, volumeMounts, ...same } = server;
    const { env: envOfSet, resources: resourcesOfSet, volumeMounts: mountsOfSet, ...sameOfSet } = alone;
    expect(same).toEqual(sameOfSet);
    expect(resources.limits).toEqual(resourcesOfSet.limits);
    expect(env.slice(0, -1)).toEqual(envOfSet);
    expect(volumeMounts.filter(({ name }: { name: string }) => name !== 'database')).toEqual(mountsOfSet);
    for (const volume of ofSet) expect(volumes).toContainEqual(volume);
    // Each Pod has its own spool, because each server needs its own data folder.
    expect(volumes.find(({ name }: { name: string }) => name === 'data')).toHaveProperty('emptyDir');
  });

  test('pass the database in files of a Secret without content, to the servers and to the migration', () => {
    const secret = yamlOf(`${FOLDER}/secret.example.yaml`);
    expect(secret.stringData).toEqual({ url: '', password: '' });
    expect(secret.metadata.namespace).toBe(kustomization.namespace);
    for (const { spec } of [template, job])
      expect(spec.volumes).toContainEqual({
        name: 'database',
        secret: { secretName: secret.metadata.name, defaultMode: 0o440 },
      });
    const mount = { name: 'database', mountPath: '/database', readOnly: true };
    const variable = { name: 'DATABASE_URL_FILE', value: `${mount.mountPath}/url` };
    expect(server.env.at(-1)).toEqual(variable);
    expect(server.volumeMounts).toContainEqual(mount);
    expect(migration.env).toEqual([variable]);
    expect(migration.volumeMounts).toContainEqual(mount);
    expect(migration.image).toBe(server.image);
    expect(migration.securityContext).toEqual(server.securityContext);
    expect(parseCommand(migration.args, {}, policiesAt('policies'))).toMatchObject({ name: 'db' });
  });

  test('let the migration reach only its database and DNS', () => {
    const { podSelector, policyTypes, ingress, egress } = yamlOf(`${FOLDER}/migration-network.yaml`).spec;
    expect(podSelector.matchLabels).toEqual(job.metadata.labels);
    expect([policyTypes, ingress]).toEqual([['Ingress', 'Egress'], undefined]);
    const dns = yamlOf(`${ONE}/network.yaml`).spec.egress[0];
    expect(egress).toEqual([dns, ...yamlOf(`${FOLDER}/network.yaml`).spec.egress]);
  });

  test('select the servers, and never the migration, wherever they mean the servers', () => {
    const labels = template.metadata.labels;
    expect(deployment.spec.selector.matchLabels).toEqual(labels);
    expect(yamlOf(`${ONE}/service.yaml`).spec.selector).toEqual(labels);
    expect(yamlOf(`${FOLDER}/disruption.yaml`).spec.selector.matchLabels).toEqual(labels);
    expect(yamlOf(`${FOLDER}/network.yaml`).spec.podSelector.matchLabels).toEqual(labels);
    expect(job.metadata.labels).not.toEqual(labels);
    expect(kustomization.labels[0].includeSelectors).toBe(false);
  });
});
