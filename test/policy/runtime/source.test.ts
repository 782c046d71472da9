import { afterAll, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readBundle } from '../../../src/policy/runtime/source.ts';
import { temporaryFolder } from '../../support/signalbox.ts';

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

/** Makes a policy folder with this many files of this many characters. */
function folderOf(files: number, length: number): string {
  const folder = temporaryFolder();
  folders.push(folder);
  for (let at = 0; at < files; at++) writeFileSync(join(folder, `${at}.yaml`), ' '.repeat(length));
  return folder;
}

test('a policy has at most 256 files', async () => {
  const folder = folderOf(256, 1);
  // Other files do not count.
  for (const name of ['notes.md', '.hidden.yaml', 'yaml']) writeFileSync(join(folder, name), '');
  expect((await readBundle(folder)).files).toHaveLength(256);
  writeFileSync(join(folder, 'more.yml'), '');
  await expect(readBundle(folder)).rejects.toThrow('has 257 files; the limit is 256');
});

test('a policy has at most 16,777,216 characters, and at most 1 MiB per file', async () => {
  const folder = folderOf(16, 1_048_576);
  expect((await readBundle(folder)).files.filter((file) => 'problem' in file)).toEqual([]);
  writeFileSync(join(folder, 'more.yaml'), ' ');
  await expect(readBundle(folder)).rejects.toThrow('more than 16777216 characters');
  // A file that is too large is a mistake in the policy, and is not read.
  writeFileSync(join(folder, 'more.yaml'), ' '.repeat(1_048_577));
  const { files } = await readBundle(folder);
  expect(files.filter((file) => 'problem' in file)).toMatchObject([
    { problem: 'too-large', detail: 'it has 1048577 bytes' },
  ]);
});
