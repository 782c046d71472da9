import { afterAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { runHere } from '../support/run-here.ts';
import { writePolicy } from '../support/signalbox.ts';

/** A policy that lists no models. Two providers serve any model, and one of them states its region. */
const PROVIDERS = `version: 1
providers:
  a: { preset: openai }
  b: { preset: openai, api_key_env: SECOND_KEY, serves: "*" }
models:
  "a/*": { provider: a, regions: [europe], tags: [private] }
`;
const ENV = { OPENAI_API_KEY: 'sk-one', SECOND_KEY: 'sk-two' };
/** Later than the date of the public table. */
const LATER = () => Date.parse('2027-11-23T12:00:00Z');

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

async function run(command: 'check' | 'test', more: string, flags: readonly string[] = [], clock?: () => number) {
  const folder = writePolicy({ 'p.yaml': `${PROVIDERS}${more}` });
  folders.push(folder);
  return runHere(['policy', command, folder, ...flags], ENV, '', clock);
}

const constraint = (require: string, when = '') =>
  `constraints: [{ name: c, require: '${require}'${when && `, when: '${when}'`} }]\n`;

const oneCase = (given: string, expect: string) =>
  `cases: [{ name: one, given: { ${given} }, expect: { ${expect} } }]\n`;

describe('a policy of wildcards alone', () => {
  test.each([
    'model.price.output < 5.0',
    'model.provider == "a"',
    'model.id.startsWith("a/") || model.max_output > 100.0',
    '"europe" in endpoint.regions',
  ])('a policy with only wildcards may have a rule that some of their models satisfy: %s', async (require) => {
    const { out, code } = await run('check', constraint(require));
    expect([out.match(/refuses-everything|error/), code]).toEqual([null, 0]);
    const { out: conditional } = await run('check', constraint(require, 'key.labels.role == "intern"'));
    expect(conditional).not.toContain('satisfied-by-none');
  });

  test.each(['model.provider == "b" && "europe" in endpoint.regions', 'model.quality.default > 0.9'])(
    'policy check warns about a rule that no model of the wildcards satisfies: %s',
    async (require) => {
      const { out, code } = await run('check', constraint(require));
      expect([out.includes('refuses-everything'), code]).toEqual([true, 2]);
    },
  );

  test('policy check suggests the tag and the region of a wildcard for similar words', async () => {
    const { out } = await run('check', constraint('"Europe" in endpoint.regions || "privat" in model.tags'));
    expect(out).toContain('did you mean `"europe"`?');
    expect(out).toContain('did you mean `"private"`?');
  });

  test('a wildcard of a provider with a key does not count as a free model', async () => {
    const { out } = await run('check', '', ['--strict', '--all']);
    expect(out).not.toContain('free-model');
    expect(out).toContain('1 file, 2 wildcards, 0 cases, ');
  });

  test('policy check says once how old the public figures are', async () => {
    const { out } = await run('check', '', [], LATER);
    expect(out).toContain('. 1 figure is older than 90 days: --all');
    const { out: all } = await run('check', '', ['--all'], LATER);
    expect(all).toMatch(
      /p\.yaml:6:3 {2}stale-figure {2}`public table .*\w+\/[\w.-]+@[\w.]+` was last checked \d+ days ago, on /,
    );
  });

  test('policy check suggests the ID with its provider for a model name in a rule', async () => {
    const { out, code } = await run('check', constraint('false', 'request.model == "gpt-4.1"'));
    expect(out).toContain('`gpt-4.1` is another name of a model');
    expect(out).toContain('expected: `a/gpt-4.1`, the ID of that model');
    expect(code).toBe(2);
  });
});

describe('a case about a wildcard’s model', () => {
  const CHEAP = constraint('model.price.output < 5.0');

  test('a case names a wildcard’s model as callers do, and lists the wildcard for a key', async () => {
    const given = 'model: gpt-4o-mini, key: { models: ["a/*"] }';
    expect(await run('test', oneCase(given, 'model: a/gpt-4o-mini'))).toMatchObject({ code: 0 });
    const { out } = await run('test', oneCase(given, 'model: a/gpt-4o-mini'), ['--json']);
    expect(JSON.parse(out).cases).toMatchObject([{ status: 'holds', choice: 'a/gpt-4o-mini', provider: 'a' }]);
    const other = 'model: gpt-4o-mini, key: { models: ["b/*"] }';
    expect(await run('test', oneCase(other, 'refused: insufficient_permissions'))).toMatchObject({ code: 0 });
  });

  test('a case proves that a rule rejects a wildcard’s model, whether it was requested or not', async () => {
    const refused = 'refused: no_eligible_model, rejected: { a/gpt-4.1: c }';
    expect(await run('test', CHEAP + oneCase('model: gpt-4.1', refused))).toMatchObject({ code: 0 });
    const aside = 'model: a/gpt-4o-mini, rejected: { b/gpt-4.1: c }';
    expect(await run('test', CHEAP + oneCase('model: gpt-4o-mini', aside))).toMatchObject({ code: 0 });
    const unselected = 'refused: no_eligible_model, rejected: { a/gpt-4o-mini: selector }';
    expect(await run('test', CHEAP + oneCase('model: auto', unselected))).toMatchObject({ code: 0 });
    const wrong = 'model: a/gpt-4o-mini, rejected: { a/gpt-4o-mini: c }';
    expect((await run('test', CHEAP + oneCase('model: gpt-4o-mini', wrong))).out).toContain(
      'rejected.a/gpt-4o-mini: eligible',
    );
  });

  test('a case fails if it expects a quality of a wildcard’s model, because none is stated', async () => {
    const { out } = await run('test', oneCase('model: gpt-4o-mini', 'quality_above: 0.1'));
    expect(out).toContain('+ quality_above: unknown');
  });

  test('a case with a misspelt name of a wildcard’s model is an error', async () => {
    const { out, code } = await run('check', oneCase('model: gpt-4o-minii', 'model: a/gpt-4o-mini'));
    expect(out).toContain('there is no selector or model `gpt-4o-minii`');
    expect(code).toBe(2);
  });
});
