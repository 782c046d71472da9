import { afterAll, describe, expect, test } from 'bun:test';
import {
  chmodSync,
  linkSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile } from '../../../src/policy/runtime/replace-file.ts';
import { writePolicy } from '../../support/signalbox.ts';

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function policy(files: Readonly<Record<string, string>>): string {
  const folder = writePolicy(files);
  folders.push(folder);
  return folder;
}

const OLD = 'version: 1\n';
const NEW = 'version: 1\n';

describe('replacing a file', () => {
  test('replacing a file keeps its permissions', async () => {
    const path = join(policy({ 'a.yaml': OLD }), 'a.yaml');
    chmodSync(path, 0o640);
    await replaceFile(path, NEW);
    expect(readFileSync(path, 'utf8')).toBe(NEW);
    expect(statSync(path).mode & 0o777).toBe(0o640);
  });

  test('replacing a file follows a link like the ones that Kubernetes mounts, and keeps the link', async () => {
    const folder = policy({ 'a.yaml': OLD });
    const mount = policy({});
    symlinkSync(folder, join(mount, '..data'));
    symlinkSync('..data/a.yaml', join(mount, 'a.yaml'));
    await replaceFile(join(mount, 'a.yaml'), NEW);
    expect(lstatSync(join(mount, 'a.yaml')).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(folder, 'a.yaml'), 'utf8')).toBe(NEW);
    expect([readdirSync(mount).sort(), readdirSync(folder)]).toEqual([['..data', 'a.yaml'], ['a.yaml']]);
  });

  test('while a file is replaced, readers see the old text or the new text, never a mixture', async () => {
    const path = join(policy({ 'a.yaml': '' }), 'a.yaml');
    const texts = ['a', 'b'].map((sign) => sign.repeat(200_000));
    writeFileSync(path, texts[0]!);
    const seen = new Set<string>();
    let writing = true;
    const reading = (async () => {
      while (writing) seen.add(await readFile(path, 'utf8'));
    })();
    for (let i = 1; i <= 40; i++) {
      await replaceFile(path, texts[i % 2]!);
    }
    writing = false;
    await reading;
    expect([...seen].filter((text) => !texts.includes(text)).map(({ length }) => length)).toEqual([]);
    expect(seen.size).toBe(2);
  });

  test('replacing a file removes temporary files of a killed process, and no file that is being written', async () => {
    const folder = policy({
      'a.yaml': OLD,
      '.a.yaml.17.tmp': 'old',
      '.a.yaml.18.tmp': 'new',
      '.ab.yaml.17.tmp': 'other',
    });
    for (const name of ['.a.yaml.17.tmp', '.ab.yaml.17.tmp']) utimesSync(join(folder, name), 1, 1);
    await replaceFile(join(folder, 'a.yaml'), NEW);
    expect(readdirSync(folder).sort()).toEqual(['.a.yaml.18.tmp', '.ab.yaml.17.tmp', 'a.yaml']);
  });

  test('Signalbox refuses to replace a file with a hard link, because its other name would keep the old text', async () => {
    const folder = policy({ 'a.yaml': OLD });
    linkSync(join(folder, 'a.yaml'), join(folder, 'b.yaml'));
    await expect(replaceFile(join(folder, 'a.yaml'), NEW)).rejects.toThrow('it has a hard link');
    expect(readFileSync(join(folder, 'a.yaml'), 'utf8')).toBe(OLD);
  });
});
