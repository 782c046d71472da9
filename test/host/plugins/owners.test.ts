import { expect, test } from 'bun:test';
import { claimFiles, pluginIn } from '../../../src/host/plugins/owners.ts';

claimFiles(['/policies/a.ts', '/policies/shared.ts'], './a.ts');
claimFiles(['/policies/b.ts', '/policies/with space (1).ts'], './b.ts');

const stack = (...files: string[]): string =>
  ['Error: lost', ...files.map((file) => `    at f (${file}:3:7)`)].join('\n');

test.each([
  ['the first file of a plugin', stack('/gateway/x.ts', '/policies/b.ts', '/policies/a.ts'), './b.ts'],
  ['a file that a plugin imports', stack('/policies/shared.ts'), './a.ts'],
  ['a file with the hash that it was imported with', stack('/policies/a.ts?0123abcd'), './a.ts'],
  ['a name with spaces and brackets', stack('/policies/with space (1).ts'), './b.ts'],
  ['a file name that only begins like a plugin’s', stack('/policies/a.tsx', '/policies/b.ts'), './b.ts'],
  ['no file of a plugin', stack('/gateway/x.ts', '/policies/a.ts.bak'), null],
  ['no stack', 'lost', null],
])('a stack trace with %s is attributed to the right plugin', (_, text, plugin) => {
  expect(pluginIn(text)).toBe(plugin);
});
