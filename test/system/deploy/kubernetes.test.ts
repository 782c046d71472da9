import { describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { faultsOfManifests, textOf, yamlOf } from './manifests.ts';

const FOLDER = 'deploy/kubernetes';
const files = readdirSync(join(import.meta.dir, '../../..', FOLDER)).filter((file) => file.endsWith('.yaml'));
const kustomization = yamlOf(`${FOLDER}/kustomization.yaml`);
const statefulSet = yamlOf(`${FOLDER}/statefulset.yaml`);
const pod = statefulSet.spec.template.spec;
const [container] = pod.containers;
const labels = statefulSet.spec.template.metadata.labels;

describe('The manifests of deploy/kubernetes', () => {
  test.each(files.filter((file) => file !== 'kustomization.yaml'))('%s follows the schemas of Kubernetes', (file) => {
    expect(faultsOfManifests(textOf(`${FOLDER}/${file}`))).toEqual([]);
  });

  const set = textOf(`${FOLDER}/statefulset.yaml`);
  test.each([
    [
      'a misspelled field',
      set,
      'readOnlyRootFilesystem',
      'readonlyRootFilesystem',
      'securityContext/readonlyRootFilesystem: unknown field',
    ],
    [
      'a field at the wrong depth',
      set,
      '          ports:\n',
      '          hostNetwork: false\n          ports:\n',
      'containers/0/hostNetwork: unknown field',
    ],
    [
      'a text for a number',
      set,
      'terminationGracePeriodSeconds: 40',
      'terminationGracePeriodSeconds: 40s',
      'terminationGracePeriodSeconds: type {"type":"integer"}',
    ],
    ['a text for a truth', set, 'runAsNonRoot: true', "runAsNonRoot: 'true'", 'runAsNonRoot: type {"type":"boolean"}'],
    ['a word that is none of those allowed', set, 'IfNotPresent', 'IfMissing', 'imagePullPolicy: enum'],
    [
      'a number for a label',
      set,
      'labels: { app.kubernetes.io/name: signalbox }',
      'labels: { a: 1 }',
      'labels/a: type {"type":"string"}',
    ],
    ['a number for an annotation', set, '"8787"', '8787', 'prometheus.io~1port: type {"type":"string"}'],
    [
      'what must be there left out',
      set,
      '        - name: signalbox\n          image',
      '        - image',
      'containers/0: required',
    ],
    ['a version that has no such kind', set, 'apps/v1', 'apps/v2', 'apps/v2 StatefulSet: there is no schema'],
    ['a protocol that is none', textOf(`${FOLDER}/network.yaml`), 'protocol: UDP', 'protocol: UPD', 'protocol: enum'],
    ['a misspelled peer', textOf(`${FOLDER}/network.yaml`), 'ipBlock', 'ipblock', 'ipblock: unknown field'],
  ])('the check finds a mistake: %s', (_, text, from, to, fault) => {
    expect(text).toContain(from);
    expect(faultsOfManifests(text.replace(from, to)).join('\n')).toContain(fault);
  });

  test('apply all their files, except the example of a Secret', () => {
    expect([...kustomization.resources, 'kustomization.yaml', 'secret.example.yaml'].sort()).toEqual(files.sort());
  });

  test('contain every file of the shipped policy under a fixed name, so that an edit restarts nothing', () => {
    const [{ name, files: policies }] = kustomization.configMapGenerator;
    const shipped = readdirSync(join(import.meta.dir, '../../../policies')).filter((file) => /\.ya?ml$/.test(file));
    expect(policies).toEqual(shipped.sort().map((file) => `../../policies/${file}`));
    expect(kustomization.generatorOptions).toEqual({ disableNameSuffixHash: true });
    expect(pod.volumes).toContainEqual({ name: 'policies', configMap: { name } });
    const mount = container.volumeMounts.find((one: { name: string }) => one.name === 'policies');
    // A mount with subPath never shows an edit.
    expect(mount).toEqual({ name: 'policies', mountPath: '/policies', readOnly: true });
    expect(container.env).toContainEqual({ name: 'SIGNALBOX_POLICIES', value: mount.mountPath });
  });

  test('run one server with one data folder', () => {
    expect(statefulSet.spec.replicas).toBe(1);
    const [claim] = statefulSet.spec.volumeClaimTemplates;
    expect(claim.spec.accessModes).toEqual(['ReadWriteOnce']);
    expect(container.volumeMounts).toContainEqual({ name: claim.metadata.name, mountPath: '/data' });
    // A disruption budget that forbids any disruption would block every drain of a node, because there is one replica.
    expect(yamlOf(`${FOLDER}/disruption.yaml`).spec.maxUnavailable).toBe(1);
  });

  test('restart the server only because of /healthz', () => {
    expect(container.livenessProbe.httpGet).toEqual({ path: '/healthz', port: 'http' });
    expect(container.startupProbe.httpGet).toEqual({ path: '/healthz', port: 'http' });
    expect(container.readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'http' });
  });

  test('give the process no unneeded right', () => {
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(yamlOf(`${FOLDER}/serviceaccount.yaml`).automountServiceAccountToken).toBe(false);
    expect(yamlOf(`${FOLDER}/namespace.yaml`).metadata.labels['pod-security.kubernetes.io/enforce']).toBe('restricted');
  });

  test('select the same Pod everywhere', () => {
    const network = yamlOf(`${FOLDER}/network.yaml`).spec;
    expect(statefulSet.spec.selector.matchLabels).toEqual(labels);
    expect(yamlOf(`${FOLDER}/service.yaml`).spec.selector).toEqual(labels);
    expect(yamlOf(`${FOLDER}/disruption.yaml`).spec.selector.matchLabels).toEqual(labels);
    expect(network.podSelector.matchLabels).toEqual(labels);
    expect(network.policyTypes).toEqual(['Ingress', 'Egress']);
  });

  test('hold no secret', () => {
    const { stringData, metadata } = yamlOf(`${FOLDER}/secret.example.yaml`);
    expect(Object.values(stringData).every((value) => value === '')).toBe(true);
    expect(container.envFrom).toEqual([{ secretRef: { name: metadata.name, optional: true } }]);
    expect(metadata.namespace).toBe(kustomization.namespace);
  });
});
