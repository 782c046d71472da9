import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyWhole } from '../../../src/server/shipped-policies.ts';
import { temporaryFolder } from '../../support/signalbox.ts';

let folder: string;
const at = (...path: string[]): string => join(folder, ...path);

beforeEach(() => {
  folder = temporaryFolder();
  mkdirSync(at('shipped'));
  writeFileSync(at('shipped', 'policy.yaml'), 'version: 1\n');
});
afterEach(() => rmSync(folder, { recursive: true }));

const copied = () => [readdirSync(at('data')), readFileSync(at('data', 'policies', 'policy.yaml'), 'utf8')];

test('the first start writes the complete policy folder and no other file', () => {
  copyWhole(at('shipped'), at('data', 'policies'));
  expect(copied()).toEqual([['policies'], 'version: 1\n']);
});

test('other users may read the copy as far as the umask lets them, because the user of a server may be another', () => {
  copyWhole(at('shipped'), at('data', 'policies'));
  expect(statSync(at('data', 'policies')).mode & 0o777).toBe(0o777 & ~process.umask());
});

test('a second start during the first start uses the policy files that the first start writes', () => {
  mkdirSync(at('data', 'policies'), { recursive: true });
  writeFileSync(at('data', 'policies', 'policy.yaml'), '# of the first\n');
  copyWhole(at('shipped'), at('data', 'policies'));
  expect(copied()).toEqual([['policies'], '# of the first\n']);
});

test('a file in place of the folder is reported', () => {
  mkdirSync(at('data'));
  writeFileSync(at('data', 'policies'), '');
  expect(() => copyWhole(at('shipped'), at('data', 'policies'))).toThrow('ENOTDIR');
  expect(readdirSync(at('data'))).toEqual(['policies']);
});
