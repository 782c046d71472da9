import { afterAll, describe, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import fc from 'fast-check';
import { readBundle } from '../../../src/policy/runtime/source.ts';
import { finishEdit, writeEdit } from '../../../src/policy/runtime/write-edit.ts';
import { temporaryFolder } from '../../support/signalbox.ts';

/** An edit of several files is applied completely or not at all, whenever its writer is killed. */
const home = temporaryFolder();
afterAll(() => rmSync(home, { recursive: true, force: true }));
let folders = 0;

type Texts = Readonly<Record<string, string>>;

function folderOf(texts: Texts): string {
  const folder = join(home, `${folders++}`);
  mkdirSync(folder);
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, name), text);
  return folder;
}

/** Returns the files as the disk has them, without the journal. */
const onDisk = (folder: string): Texts =>
  Object.fromEntries(
    readdirSync(folder)
      .filter((name) => name.endsWith('.yaml') && !name.startsWith('.'))
      .sort()
      .map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
  );

/** Returns the files as every reader of a policy gets them. */
const asRead = async (folder: string): Promise<Texts> =>
  Object.fromEntries((await readBundle(folder)).files.map(({ path, text = '' }) => [basename(path), text]));

const editsOf = (before: Texts, after: Texts) =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .map((name) => ({ name, before: before[name] ?? null, after: after[name] ?? null }))
    .filter((edit) => edit.before !== edit.after);

const FIXTURE = join(import.meta.dir, 'write-edit.fixture.ts');
const texts = fc.dictionary(
  fc.constantFrom('a.yaml', 'b.yaml', 'c.yaml', 'd.yaml'),
  fc.constantFrom('', 'x: 1\n', 'y: 2\n', 'é: 3\r\n'),
  {
    minKeys: 1,
  },
);
const crash = fc.record({ before: texts, after: texts, last: fc.integer({ min: 1, max: 7 }) });

/** Returns whether a folder is complete after a crash: for readers at once, and on the disk once the edit is finished. */
async function isWhole({ before, after, last }: { before: Texts; after: Texts; last: number }, isNaive: boolean) {
  const folder = folderOf(before);
  const order = { folder, edits: editsOf(before, after), last, isNaive };
  Bun.spawnSync([process.execPath, FIXTURE, JSON.stringify(order)]);
  const read = await asRead(folder);
  await finishEdit(folder);
  const found = onDisk(folder);
  const isOne = [before, after].some((one) => Bun.deepEquals(one, read));
  const isClean = readdirSync(folder).every((name) => name.endsWith('.yaml') && !name.startsWith('.'));
  return isOne && Bun.deepEquals(found, read) && isClean;
}

const law = (isNaive: boolean, numRuns: number) =>
  fc.check(
    fc.asyncProperty(crash, (one) => isWhole(one, isNaive)),
    { numRuns, seed: 47, endOnFailure: true },
  );

describe('an edit whose writer is killed', () => {
  test('leaves the old policy or the new one, never a mix', async () => {
    const { failed, counterexample, seed } = await law(false, 40);
    expect([failed, counterexample, seed]).toEqual([false, null, 47]);
  });

  test('would leave a mix if it wrote file by file', async () => {
    expect((await law(true, 200)).failed).toBe(true);
  });

  test('is the new policy for every reader once it is decided', async () => {
    const before: Texts = { 'a.yaml': 'x: 1\n', 'b.yaml': 'y: 1\n' };
    const after: Texts = { 'a.yaml': 'x: 2\n', 'c.yaml': 'z: 2\n' };
    const folder = folderOf(before);
    const seen: Promise<Texts>[] = [];
    const steps: string[] = [];
    await writeEdit(folder, editsOf(before, after), (step) => {
      steps.push(step);
      seen.push(asRead(folder));
    });
    const [staged, ...others] = await Promise.all(seen);
    expect(steps.slice(0, 2)).toEqual(['staged', 'decided']);
    expect([before, after]).toContainEqual(staged ?? {});
    for (const one of others) expect(one).toEqual(after);
    expect(onDisk(folder)).toEqual(after);
  });
});

test('finishing an edit keeps a file that a person changed after the crash', async () => {
  const before = { 'a.yaml': 'x: 1\n', 'b.yaml': 'y: 1\n' };
  const folder = folderOf(before);
  const edits = editsOf(before, { 'a.yaml': 'x: 2\n', 'b.yaml': 'y: 2\n' });
  Bun.spawnSync([process.execPath, FIXTURE, JSON.stringify({ folder, edits, last: 2, isNaive: false })]);
  writeFileSync(join(folder, 'b.yaml'), 'y: 3\n');
  const theirs = { 'a.yaml': 'x: 2\n', 'b.yaml': 'y: 3\n' };
  expect(await asRead(folder)).toEqual(theirs);
  await finishEdit(folder);
  expect(onDisk(folder)).toEqual(theirs);
});

test('a journal that names other folders is ignored', async () => {
  const folder = folderOf({ 'a.yaml': 'x: 1\n' });
  for (const name of ['../b.yaml', 'b/c.yaml', '.b.yaml', 'b.ts']) {
    const files = [{ name, before: null, after: 'evil' }];
    writeFileSync(join(folder, '.signalbox-edit.json'), JSON.stringify({ files }));
    expect(await asRead(folder)).toEqual({ 'a.yaml': 'x: 1\n' });
    await finishEdit(folder);
    expect(readdirSync(folder)).toEqual(['a.yaml']);
  }
});
