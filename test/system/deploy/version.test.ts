import { afterAll, describe, expect, test } from 'bun:test';
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import manifest from '../../../package.json' with { type: 'json' };
import { InstanceStatus } from '../../../src/admin/status.ts';
import { commitOf } from '../../../src/server/version.ts';
import { MAIN, runToEnd, temporaryFolder } from '../../support/signalbox.ts';
import { instructionsOf, textOf, yamlOf } from './manifests.ts';

const ROOT = join(import.meta.dir, '../../..');
const { version } = manifest;

describe('the version of package.json', () => {
  test('is the version of the image, Compose, Kubernetes, the bill of materials and the docs', () => {
    const { packages, ...lock } = JSON.parse(textOf('package-lock.json'));
    const labels = instructionsOf(textOf('Dockerfile')).filter(({ name }) => name === 'LABEL');
    const pod = yamlOf('deploy/kubernetes/statefulset.yaml').spec.template.spec;
    const { images } = yamlOf('deploy/kubernetes/kustomization.yaml');
    const { images: ofMany } = yamlOf('deploy/kubernetes/postgresql/kustomization.yaml');
    expect([lock.version, packages[''].version]).toEqual([version, version]);
    expect(labels.map(({ rest }) => rest).join()).toContain(`image.version="${version}"`);
    expect(yamlOf('compose.yaml').services.signalbox.image).toBe(`signalbox:${version}`);
    expect(ofMany).toEqual(images);
    for (const [, tag] of textOf('deploy/compose/compose.yaml').matchAll(/image: signalbox:(.*)/g))
      expect(tag).toBe(version);
    expect(images).toEqual([{ name: pod.containers[0].image, newTag: version }]);
    expect(yamlOf('deploy/helm/signalbox/Chart.yaml')).toMatchObject({ version, appVersion: version });
    expect(JSON.parse(textOf('deploy/sbom.cdx.json')).metadata.component.version).toBe(version);
    expect(InstanceStatus.properties.version.examples).toEqual([`${version}+7e7a9e75`]);
    const tags = [...textOf('docs/operate/deploy.md').matchAll(/\bsignalbox:(\d\S*)/g)].map(([, tag]) => tag);
    expect(tags.length).toBeGreaterThan(1);
    expect(new Set(tags)).toEqual(new Set([version]));
  });
});

describe('the commit', () => {
  const home = temporaryFolder();
  const clone = join(home, 'clone');
  const git = (...args: string[]): string => {
    const who = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-c', 'init.defaultBranch=trunk'];
    const { stdout, stderr, exitCode } = Bun.spawnSync(['git', ...who, '-C', clone, ...args]);
    if (exitCode !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
    return stdout.toString().trim();
  };
  afterAll(() => rmSync(home, { recursive: true, force: true }));

  test('is known in a clone, a worktree and an archive, even without git; otherwise it is unknown', () => {
    mkdirSync(clone);
    for (const file of ['.gitattributes', 'commit.txt']) cpSync(join(ROOT, file), join(clone, file));
    expect(commitOf(clone)).toBe('');
    git('init', '-q');
    expect(commitOf(clone)).toBe('');
    git('add', '-A');
    git('commit', '-qm', 'one');
    const one = git('rev-parse', 'HEAD').slice(0, 8);
    expect(commitOf(clone)).toBe(one);
    git('pack-refs', '--all');
    expect(commitOf(clone)).toBe(one);
    git('worktree', 'add', '-q', '-b', 'side/branch', join(home, 'worktree'));
    expect(commitOf(join(home, 'worktree'))).toBe(one);
    git('commit', '-q', '--allow-empty', '-m', 'two');
    const two = git('rev-parse', 'HEAD').slice(0, 8);
    expect([commitOf(clone), commitOf(join(home, 'worktree'))]).toEqual([two, one]);
    git('checkout', '-q', '--detach', one);
    expect(commitOf(clone)).toBe(one);
    git('archive', '--format=tar', '--output', join(home, 'archive.tar'), 'trunk');
    mkdirSync(join(home, 'archive'));
    Bun.spawnSync(['tar', '-xf', join(home, 'archive.tar'), '-C', join(home, 'archive')]);
    expect(commitOf(join(home, 'archive'))).toBe(two);
    writeFileSync(join(clone, '.git/HEAD'), 'ref: refs/heads/gone\n');
    expect(commitOf(clone)).toBe('');
  });

  test('follows the version that `--version` prints', async () => {
    const found = existsSync(join(ROOT, '.git')) ? git('-C', ROOT, 'rev-parse', 'HEAD').slice(0, 8) : '';
    const printed = `${version}${found && `+${found}`}\n`;
    expect(await runToEnd([process.execPath, MAIN, '--version'], {}, home)).toEqual({ code: 0, out: printed, err: '' });
  });
});
