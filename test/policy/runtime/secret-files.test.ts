import { afterAll, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SecretFiles } from '../../../src/policy/runtime/secret-files.ts';
import { temporaryFolder } from '../../support/signalbox.ts';

const folder = temporaryFolder();
afterAll(() => rmSync(folder, { recursive: true }));

const file = join(folder, 'secret');
const read = () =>
  new SecretFiles({
    env: (name) => ({ KEY_FILE: file, PLAIN: 'plain' })[name],
    now: Date.now,
    onUnusable: () => {},
  });

test('A secret is the text of its file without one final line break', () => {
  const cases = {
    secret: 'secret',
    'secret\n': 'secret',
    'secret\r\n': 'secret',
    ' a b \n\n': ' a b \n',
    'a\nb\n': 'a\nb',
  };
  for (const [text, secret] of Object.entries(cases)) {
    writeFileSync(file, text);
    expect(read().get('KEY')).toBe(secret);
  }
});

test('`reread` reads the files again and returns the variables whose values have changed', () => {
  writeFileSync(file, 'one');
  const files = read();
  expect([files.get('PLAIN'), files.get('PLAIN_FILE'), files.get('KEY')]).toEqual(['plain', undefined, 'one']);
  writeFileSync(file, 'two');
  expect(files.get('KEY')).toBe('one');
  expect(files.reread(new Set(['KEY']))).toEqual([]);
  expect(files.get('KEY')).toBe('one');
  expect(files.reread(new Set())).toEqual(['KEY']);
  expect(files.get('KEY')).toBe('two');
  expect(files.reread(new Set())).toEqual([]);
});
