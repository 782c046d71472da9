import { afterAll, expect, test } from 'bun:test';
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { patchedFiles } from '../../bench/steps.ts';
import { MUTANTS, type Mutant } from '../instances/mutants.ts';
import { NAMED } from '../instances/named.ts';
import { ELSEWHERE, SUITES } from '../support/elsewhere.ts';
import { effort } from './effort.ts';

/** `npm run test:deep -- state`: who owns state, by its named tests, by a mutant for each tie, and by the suites at the door on other stores. */
const ROOT = join(import.meta.dir, '../..');
/** The parts of the repository that a mutant's tests read. */
const PARTS = ['src', 'plugins', 'policies', 'test', 'bench', 'docs', 'package.json', 'tsconfig.json', 'bunfig.toml'];
const { proved } = effort('state', MUTANTS.length, MUTANTS.length);

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Runs test files in a folder. @returns whether they passed, and what they printed */
async function testsPass(cwd: string, files: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const args = [process.execPath, 'test', '--timeout=120000', ...files];
  // What a section hands on to its own tests is not theirs.
  const { SIGNALBOX_DEEP: _, SIGNALBOX_PROOF: __, ...rest } = process.env;
  const child = Bun.spawn(args, { cwd, env: { ...rest, ...env }, stdout: 'pipe', stderr: 'pipe' });
  const printed = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { passed: (await child.exited) === 0, printed: printed.join('') };
}

function copyWith({ name, patches }: Mutant): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-mutant-'));
  folders.push(folder);
  for (const part of PARTS) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const files = patchedFiles({ kind: 'without', name, patches });
  for (const [file, text] of files) writeFileSync(join(folder, file), text);
  return folder;
}

const killed: string[] = [];

test('the named tests hold', async () => {
  const files = [...new Set(NAMED.map(({ file }) => file))];
  const { passed, printed } = await testsPass(ROOT, files);
  if (!passed) console.log(printed);
  expect(passed).toBe(true);
});

for (const mutant of MUTANTS)
  test(`a mutant is killed: ${mutant.name}`, async () => {
    const { passed, printed } = await testsPass(copyWith(mutant), mutant.files, { SIGNALBOX_RUNS: '10' });
    const found = [...printed.matchAll(/^\(fail\) (.*?)(?: \[[\d.]+ms\])?$/gm)].map(([, name]) => name);
    expect({ passed, found: found.length > 0 }).toEqual({ passed: false, found: true });
    killed.push(`| ${mutant.tie} | ${mutant.name} | ${found[0]} |`);
  }, 600_000);

for (const store of Object.keys(ELSEWHERE))
  test(`the suites at the door pass on another store: ${store}`, async () => {
    const { passed, printed } = await testsPass(ROOT, SUITES[store] ?? [], { SIGNALBOX_STORE: store });
    if (!passed) console.log(printed);
    expect(passed).toBe(true);
  }, 900_000);

test('the tests and mutants are listed', () => {
  expect(killed.length).toBe(MUTANTS.length);
  const named = NAMED.map(({ what, file }) => `| ${what} | \`${file}\` |`);
  const table = [
    ...['| what two instances must not break | tested in |', '| --- | --- |', ...named, ''],
    ...['| tie | mutant | killed by |', '| --- | --- | --- |', ...killed],
  ].join('\n');
  console.log(table);
  proved(`${NAMED.length} named tests of two instances, a mutant of each tie killed`, table);
});
