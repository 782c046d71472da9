import { describe, expect, test } from 'bun:test';
import { rehearsed } from '../policy/rehearsal.ts';
import { GUIDE, shippedBeside, type TextFile, weakened } from './policy-page.ts';

/** As in `policy check`, every variable is set. */
const generous = () => 'http://127.0.0.1:9/';
const nothing = () => undefined;

const said = (files: readonly TextFile[], get: (name: string) => string | undefined) =>
  rehearsed([...shippedBeside(files), ...files], get);
const errorsIn = (text: string) => text.split('\n').filter((line) => /^\S+:\d+:\d+ {2}(?!warning)/.test(line));

/** Returns the cases of a weakened file that report something. The cases are the last lines of the file. */
async function failingCases(file: TextFile, names: readonly string[]): Promise<string[]> {
  const lines = file.text.trimEnd().split('\n').length;
  const places = errorsIn(await said([file], generous)).map((line) => /^weakened\.yaml:(\d+):/.exec(line)?.[1]);
  return names.filter((_, at) => places.includes(`${lines - names.length + at + 1}`));
}

describe('the files of docs/policies/guide.md', () => {
  test('have cases for everything that a case can prove', () => {
    expect(GUIDE.length).toBeGreaterThan(10);
    const silent = GUIDE.filter(({ cases }) => cases.length === 0).map(({ sections }) => Object.keys(sections));
    expect(silent).toEqual([['teams'], ['teams', 'budgets']]);
  });

  test('have unique names', () => {
    const paths = [...GUIDE, ...shippedBeside([])].map(({ path }) => path.replace('policies/', ''));
    expect(new Set(paths).size).toBe(paths.length);
  });

  for (const guide of GUIDE) {
    test(`${guide.path} is valid together with the shipped policy`, async () => {
      expect(await said([guide], generous)).toBe('');
    });

    test(`${guide.path}: removing any part makes a case fail, and no case passes without its rule`, async () => {
      const names = guide.cases.map(({ name }) => name);
      const failing = await Array.fromAsync(weakened(guide), async ({ what, file }) => ({
        what,
        cases: await failingCases(file, names),
      }));
      expect(failing.filter(({ cases }) => cases.length === 0)).toEqual([]);
      expect([...new Set(failing.flatMap(({ cases }) => cases))].sort()).toEqual([...names].sort());
    });
  }

  test('would fail with a case that proves nothing', async () => {
    const [guide] = GUIDE.filter(({ path }) => path === 'interns.yaml');
    const vacuous = { name: 'anybody may use anything', given: {}, expect: { reason: 'auto:usual' } };
    const names = [...(guide?.cases ?? []).map(({ name }) => name), vacuous.name];
    const ways = guide ? weakened({ ...guide, cases: [...guide.cases, vacuous] }) : [];
    expect(ways.length).toBe(2);
    const failing = new Set((await Promise.all(ways.map(({ file }) => failingCases(file, names)))).flat());
    expect(names.filter((name) => !failing.has(name))).toEqual([vacuous.name]);
  });

  test('are valid together, with every key and with none', async () => {
    expect(await said(GUIDE, generous)).toBe('');
    expect(errorsIn(await said(GUIDE, nothing))).toEqual([]);
  });
});
