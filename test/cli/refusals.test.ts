import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { openStore } from '../../src/store/open.ts';
import { tempFolder } from '../store/support.ts';
import { runHere } from '../support/run-here.ts';

const folder = tempFolder();
const run = (...args: string[]) => runHere([...args, '--data', folder.path]);

let key = '';
beforeAll(async () => {
  await (await openStore(join(folder.path, 'signalbox.db'), { mode: 'serve' })).close();
  key = JSON.parse((await run('keys', 'create', '--json')).out).id;
  await run('teams', 'create', '--name', 'search');
  await run('users', 'create', '--email', 'ada@example.com');
});
afterAll(() => folder[Symbol.dispose]());

const refusals = async (words: readonly string[]) => {
  const { code, err } = await run(...words.map((word) => (word === 'KEY' ? key : word)));
  return [code, err.replace(/^signalbox: /, '').trim()];
};

describe('a word that removed a value in earlier versions is refused, with the flag that removes it now:', () => {
  test.each([
    ['keys change KEY --model all', '--no-model'],
    ['keys change KEY --model none', '--no-model'],
    ['keys change KEY --rpm none', '--no-rpm'],
    ['teams change search --model all', '--no-model'],
    ['teams change search --member-model none', '--no-member-model'],
    ['teams change search --member-budget none', '--no-member-budget'],
    ['teams change search --member-tpm none', '--no-member-tpm'],
    ['teams change search --budget none', '--no-budget'],
    ['users change ada@example.com --model all', '--no-model'],
    ['users change ada@example.com --team none', '--no-team'],
    ['users change ada@example.com --email none', '--no-email'],
    ['users change ada@example.com --name none', '--no-name'],
    ['users change ada@example.com --issuer none --sub none', '--no-issuer'],
  ])('%s', async (line, flag) => {
    const words = line.split(' ');
    const [given, word] = [flag.replace('no-', ''), words[words.indexOf(flag.replace('no-', '')) + 1]];
    expect(await refusals(words)).toEqual([1, `${given} does not take "${word}". Give ${flag} instead.`]);
  });

  test.each(['keys create --model all', 'teams create --name b --member-model none'])('%s', async (line) => {
    expect(await refusals(line.split(' '))).toEqual([1, expect.stringMatching(/ out\.$/)]);
  });
});

test('a label that is both set and removed is refused; labels of different names are not', async () => {
  const both = ['keys', 'change', 'KEY', '--label', 'env=a', '--label', 'tier=b', '--no-label', 'env'];
  expect(await refusals(both)).toEqual([
    1,
    '--no-label env contradicts --label env=…. Give only one of the two flags.',
  ]);
  expect(await refusals([...both.slice(0, -1), 'zone'])).toEqual([0, '']);
  expect(JSON.parse((await run('keys', 'show', key, '--json')).out).labels).toEqual({ env: 'a', tier: 'b' });
});

test.each([
  ['keys change KEY --user nope@example.com', '--user: '],
  ['keys create --user nope@example.com', '--user: '],
  ['keys change KEY --team nope', '--team: '],
  ['keys create --team search --user ada@example.com', '--team: '],
  ['users change ada@example.com --team nope', '--team: '],
  ['teams create --name search', '--name: '],
])('`%s` is refused with the name of the flag', async (line, beginning) => {
  const [code, message] = await refusals(line.split(' '));
  expect([code, message]).toEqual([1, expect.stringMatching(new RegExp(`^${beginning}`))]);
});

describe('a valid day or month outside of the range of reports is refused with the range:', () => {
  test.each([
    ['traffic show --to 9999-12-31', '--to', '1970-01-01 to 2199-12-31'],
    ['traffic show --from 1969-12-31', '--from', '1970-01-01 to 2199-12-31'],
    ['ledger usage --to 9999-12-31', '--to', '2000-01-01 to 2200-12-31'],
    ['ledger usage --month 9999-12', '--month', '2000-01 to 2200-12'],
  ])('%s', async (line, flag, range) => {
    const words = line.split(' ');
    expect(await refusals(words)).toEqual([1, `${flag} must be from ${range}, not \`${words.at(-1)}\`.`]);
  });

  test.each([
    ['traffic show --to tomorrow', /^--to must look like 2026-11-20 /],
    ['ledger usage --from 2026-02-30', /such as 2026-11-20/],
  ])('a day or month in another form is refused with the right form: %s', async (line, message) => {
    expect(await refusals(line.split(' '))).toEqual([1, expect.stringMatching(message)]);
  });
});
