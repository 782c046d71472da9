import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deeply } from '../../deep/deeply.ts';
import { waitFor } from '../../support/answers.ts';
import { cleanEnvironment, runToEnd, temporaryFolder } from '../../support/signalbox.ts';

/**
 * `npm run release` in a clone of this repository. The clone has quick commands in place of the checks, the builds and the installation;
 * `npm run test:deep -- distribution` runs the real builds.
 */
const ROOT = join(import.meta.dir, '../../..');
const home = temporaryFolder();
const clone = join(home, 'clone');
const AUTHOR = {
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@example.com',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.com',
};

async function git(...args: string[]): Promise<string> {
  const { code, out, err } = await runToEnd(['git', ...args], AUTHOR, clone);
  expect([code, err]).toEqual([0, expect.any(String)]);
  return out.trim();
}
const path = (file: string) => join(clone, file);
const write = (file: string, text: string) => writeFileSync(path(file), text);
const release = (...args: string[]) => runToEnd([process.execPath, 'deploy/release.ts', ...args], AUTHOR, clone);

/** Writes the files of a release as quickly as possible: a program that prints its version, and the package. */
const DISTRIBUTION = `
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { version } from './package.json';
const commit = Bun.spawnSync(['git', 'rev-parse', 'HEAD']).stdout.toString().slice(0, 8);
const out = 'dist/' + version;
mkdirSync(out + '/package', { recursive: true });
const program = out + '/signalbox-' + version + '-' + process.platform + '-' + process.arch;
writeFileSync(program, '#!/bin/sh\\necho ' + version + '+' + commit + '\\n');
chmodSync(program, 0o755);
const scripts = { prepublishOnly: 'test "$SIGNALBOX_RELEASE" = ' + version };
writeFileSync(out + '/package/package.json', JSON.stringify({ name: 'signalbox-gateway', version, scripts }));
`;

/** Replaces scripts in package.json of the clone and commits. */
async function commitScripts(scripts: Readonly<Record<string, string>>): Promise<void> {
  const manifest = JSON.parse(readFileSync(path('package.json'), 'utf8'));
  write('package.json', `${JSON.stringify({ ...manifest, scripts: { ...manifest.scripts, ...scripts } }, null, 2)}\n`);
  await git('add', '--all');
  await git('commit', '--quiet', '--allow-empty', '-m', 'scripts');
}

const dayBefore = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);

/** Writes a policy with two models and the days of their prices. The price of the operator's own model does not age. */
function writePrices(old: string, recent: string, quality = recent): void {
  const model = (day: string, basis: string, at = recent) =>
    `\n    provider: sim\n    price: { input: 1, output: 4, as_of: ${day}, basis: ${basis} }\n    context_window: 32768\n    max_output: 256\n    quality: { default: 0.5, basis: guessed, as_of: ${at} }`;
  const models = `models:\n  old-one:${model(old, 'aggregator', quality)}\n  new-one:${model(recent, 'aggregator')}\n  own:${model('2025-01-01', 'own')}\n`;
  for (const name of readdirSync(path('policies'))) rmSync(path(`policies/${name}`));
  write('policies/signalbox.yaml', `version: 1\nproviders: { sim: { adapter: simulated } }\n${models}`);
}

/** Writes a public table with one model. */
function writeTable(day: string): void {
  const row = { price: { input: 1, output: 2 }, context_window: 1_000, max_output: 100, capabilities: [] };
  const sources = [{ name: 'a/list', revision: '0123abcd', as_of: day, copyright: 'c' }];
  write('src/policy/models/facts.json', JSON.stringify({ sources, licence: 'l', models: { openai: { m: row } } }));
}

let base = '';
beforeAll(async () => {
  expect((await runToEnd(['git', 'clone', '--quiet', '--shared', ROOT, clone], {})).code).toBe(0);
  // The files of the working tree, which may differ from the commit.
  for (const file of readdirSync(join(ROOT, 'deploy')).filter((name) => name.endsWith('.ts')))
    write(`deploy/${file}`, readFileSync(join(ROOT, 'deploy', file), 'utf8'));
  write('package.json', readFileSync(join(ROOT, 'package.json'), 'utf8'));
  write('distribution.ts', DISTRIBUTION);
  write('deploy/install.sh', `#!/bin/sh\nln -s '${join(ROOT, 'node_modules')}' node_modules\n`);
  write('.ci/run', '#!/bin/sh\necho a test failed\nexit 1\n');
  write('changes/added.md', '### Money\n\n- Something costs less.\n');
  writePrices(dayBefore(1), dayBefore(1));
  writeTable(dayBefore(1));
  // A release copies all files of the clone.
  await git('rm', '-r', '--quiet', 'bench', 'docs/pictures', 'plugins', 'src/console', 'test');
  symlinkSync(join(ROOT, 'node_modules'), path('node_modules'));
  await commitScripts({ check: 'true', distribution: 'bun distribution.ts' });
  base = await git('rev-parse', 'HEAD');
});
beforeEach(async () => {
  await git('reset', '--quiet', '--hard', base);
  await git('clean', '--quiet', '--force', '-d');
  rmSync(path('dist'), { recursive: true, force: true });
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Expects that a release ends with a reason, and that neither the branch nor a file has changed. */
async function expectRefusal(args: readonly string[], reason: string): Promise<void> {
  const before = [await git('rev-parse', 'HEAD'), await git('status', '--porcelain')];
  const { code, err } = await release(...args);
  expect([code, err]).toEqual([1, expect.stringMatching(/^release: /)]);
  expect(err).toContain(reason);
  expect([await git('rev-parse', 'HEAD'), await git('status', '--porcelain')]).toEqual(before);
  expect(await git('worktree', 'list')).not.toContain('dist');
  expect(existsSync(path('dist/release'))).toBe(false);
}

describe('a release is refused with the reason, and changes nothing:', () => {
  test('without a version, or with a text that is no version', async () => {
    await expectRefusal([], 'npm run release -- 0.2.0');
    await expectRefusal(['next'], 'npm run release -- 0.2.0');
  });

  test('with files that differ from the commit, which it names', async () => {
    write('README.md', 'changed');
    write('new.txt', 'new');
    await expectRefusal(['9.0.0'], 'README.md');
    await expectRefusal(['9.0.0'], 'new.txt');
  });

  test('with a version that is not higher, or that has a tag', async () => {
    const { version } = JSON.parse(readFileSync(path('package.json'), 'utf8'));
    await expectRefusal([version], `not higher than ${version}`);
    await expectRefusal(['0.1.9'], 'not higher');
    await git('tag', 'v9.0.0');
    try {
      await expectRefusal(['9.0.0'], 'v9.0.0 exists');
    } finally {
      await git('tag', '--delete', 'v9.0.0');
    }
  });

  test('without changes, or with a change in another form', async () => {
    write('changes/added.md', 'no theme\n');
    await commitScripts({});
    await expectRefusal(['9.0.0'], 'changes/added.md');
    for (const name of readdirSync(path('changes'))) if (name !== 'README.md') rmSync(path(`changes/${name}`));
    await commitScripts({});
    await expectRefusal(['9.0.0'], 'changes/ has no change');
  });

  test('with a price of more than 60 days, in the policy or in the public table; it names only these', async () => {
    writePrices(dayBefore(61), dayBefore(60));
    await commitScripts({});
    await expectRefusal(['9.0.0'], `policies/signalbox.yaml:6: old-one, ${dayBefore(61)}`);
    writePrices(dayBefore(60), dayBefore(60));
    writeTable(dayBefore(61));
    await commitScripts({});
    await expectRefusal(['9.0.0'], `facts.json: 1 of openai, ${dayBefore(61)} (a/list@0123abcd)`);
    writeTable(dayBefore(60));
    await commitScripts({ check: 'echo no old price && exit 1' });
    await expectRefusal(['9.0.0', '--skip-tests'], 'no old price');
  });

  test('but first lists other shipped figures that are too old, and only these', async () => {
    writePrices(dayBefore(1), dayBefore(1), '2025-01-01');
    await commitScripts({ check: 'exit 1' });
    const { code, out } = await release('9.0.0', '--skip-tests');
    expect([code, out]).toEqual([1, expect.stringContaining('models.old-one.quality')]);
    expect(out).not.toContain('new-one');
  });

  test('with a check that fails, whose last lines it prints', async () => {
    await commitScripts({ check: 'echo a type is wrong && exit 1' });
    await expectRefusal(['9.0.0', '--skip-tests'], 'a type is wrong');
  });

  deeply('with a test, a build or a trial that fails', async () => {
    await expectRefusal(['9.0.0'], 'a test failed');
    await commitScripts({ check: 'true', distribution: 'echo no compiler && exit 3' });
    await expectRefusal(['9.0.0', '--skip-tests'], 'no compiler');
    await commitScripts({ distribution: 'bun distribution.ts && sed -i s/echo/false/ dist/9.0.0/signalbox-*' });
    await expectRefusal(['9.0.0', '--skip-tests'], 'The trial of the program failed');
    await commitScripts({ distribution: 'bun distribution.ts && rm dist/9.0.0/package/package.json' });
    await expectRefusal(['9.0.0', '--skip-tests'], 'The trial of publishing failed');
    expect(existsSync(path('dist/9.0.0'))).toBe(false);
  });

  deeply('with a file that no longer states its version', async () => {
    write('Dockerfile', 'FROM scratch\n');
    await commitScripts({});
    await expectRefusal(['9.0.0', '--skip-tests'], 'Dockerfile states no version');
  });
});

describe('a release', () => {
  /** Expects one commit on top of another, with the version, the changelog and the files. */
  async function expectRelease(version: string, before: string): Promise<void> {
    expect(await git('rev-parse', 'HEAD~1')).toBe(before);
    expect([await git('status', '--porcelain'), await git('tag', '--list', 'v9*')]).toEqual(['', '']);
    expect(readdirSync(path('changes'))).toEqual(['README.md']);
    const changelog = readFileSync(path('CHANGELOG.md'), 'utf8');
    expect(changelog).toContain(`## ${version} (`);
    expect(changelog).toContain('- Something costs less.\n');
    expect(readFileSync(path('compose.yaml'), 'utf8')).toContain(`signalbox:${version}\n`);
    for (const file of ['package.json', 'package-lock.json'])
      expect(JSON.parse(readFileSync(path(file), 'utf8')).version).toBe(version);
    expect(readFileSync(path('deploy/sbom.cdx.json'), 'utf8')).toContain(`signalbox@${version}`);
    expect(existsSync(path(`dist/${version}/package`))).toBe(true);
    expect(await git('worktree', 'list')).not.toContain('dist');
  }

  test('adds one commit with the version and the changelog, and puts its files into dist', async () => {
    const { code, out, err } = await release('9.0.0', '--skip-tests');
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain('git tag v9.0.0');
    await expectRelease('9.0.0', base);
  });

  deeply('that was killed has changed nothing, and the next one succeeds', async () => {
    await commitScripts({ check: 'touch waiting && exec sleep 100' });
    const before = await git('rev-parse', 'HEAD');
    const child = Bun.spawn([process.execPath, 'deploy/release.ts', '9.0.0', '--skip-tests'], {
      cwd: clone,
      env: cleanEnvironment(AUTHOR),
      stdout: 'ignore',
      stderr: 'inherit',
      detached: true,
    });
    await waitFor(() => existsSync(path('dist/release/waiting')));
    process.kill(-child.pid, 'SIGKILL');
    await child.exited;
    expect([await git('rev-parse', 'HEAD'), await git('status', '--porcelain')]).toEqual([before, '']);
    await commitScripts({ check: 'true' });
    const again = await git('rev-parse', 'HEAD');
    expect(await release('9.0.0', '--skip-tests')).toMatchObject({ code: 0, err: '' });
    await expectRelease('9.0.0', again);
  });
});
