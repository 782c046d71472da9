import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runHere } from '../support/run-here.ts';
import { writePolicy } from '../support/signalbox.ts';

const policy = (cases: string) => `version: 1
unstated_quality: default
providers:
  first: { adapter: openai-compatible, base_url: "http://127.0.0.1:9/v1", api_key_env: FIRST_KEY }
  second: { adapter: openai-compatible, base_url: "http://127.0.0.1:9/v1", api_key_env: SECOND_KEY }
  spare: { adapter: simulated, serve: when_alone }
models:
  dear:
    endpoints:
      - { provider: first, regions: [us] }
      - { provider: second, regions: [eu] }
    price: { input: 10, output: 40, as_of: 2026-11-01, basis: own }
    context_window: 32768
    max_output: 8192
    quality: { default: 0.9, basis: guessed }
  cheap:
    provider: first
    price: { input: 0.1, output: 0.4, as_of: 2026-11-01, basis: own }
    context_window: 32768
    max_output: 8192
    quality: { default: 0.6, basis: guessed }
  idle:
    provider: spare
    price: { input: 0.1, output: 0.4, as_of: 2026-11-01, basis: own }
    context_window: 32768
    max_output: 8192
    quality: { default: 0.6, basis: guessed }
selectors:
  auto: { strategy: auto }
  other: { strategy: auto-cheap }
constraints:
  - { name: legal-is-cheap, when: 'key.labels.department == "legal"', require: model.price.output < 1.0 }
  - { name: eu-only, when: 'key.labels.region == "eu"', require: '"eu" in endpoint.regions' }
cases:
${cases}`;

const CASES = `  - name: Europe is the "second" provider's
    given: { key: { labels: { region: eu } } }
    expect: { model: dear, provider: second, rejected: { cheap: eu-only } }
  - name: legal may use what is dear
    given: { key: { labels: { department: legal } }, task_type: coding }
    expect: { model: dear, task: writing, quality_above: 0.5 }
  - name: the spare one serves
    given: { model: idle }
    expect: { model: idle }
  - name: Europe is served wherever it runs
    given: { key: { labels: { region: eu } } }
    expect: { cost_below_credits: 100 }
`;

/** Two thirds of the variables are set, so that results differ from those with all variables set. */
const HERE = { FIRST_KEY: 'first-key-of-a-test' };
const folders: string[] = [];
let folder: string;
let place: string;

type Ran = Awaited<ReturnType<typeof runHere>>;
const run = (...args: string[]): Promise<Ran> =>
  runHere(['policy', ...args, '--policies', folder, '--data', folder], HERE);

function newFolder(text: string): string {
  const made = writePolicy(text);
  folders.push(made);
  return made;
}

let told: Ran;
let json: Ran;
let covered: Ran;
let here: Ran;

beforeAll(async () => {
  folder = newFolder(policy(CASES));
  place = join(folder, 'policy.yaml');
  [told, json, covered, here] = await Promise.all([
    run('test', folder),
    run('test', folder, '--json', '--coverage'),
    run('test', folder, '--case', 'EUROPE is the', '--min', '60'),
    run('test', folder, '--here'),
  ]);
});
afterAll(() => {
  for (const one of folders) rmSync(one, { recursive: true, force: true });
});

const lineOf = (text: string): number =>
  policy(CASES)
    .split('\n')
    .findIndex((line) => line.includes(text)) + 1;

describe('signalbox policy test', () => {
  test('policy test shows whether each case holds, and for failures the expected and actual values, the reason, and how to see more', () => {
    expect(told.code).toBe(2);
    expect(told.out).toBe(`holds    Europe is the "second" provider's
failed   legal may use what is dear
  ${place}:${lineOf('legal may')}:11
  - task: writing
  + task: coding
  - model: dear
  + model: cheap
    dear was rejected because the policy rejects it: legal-is-cheap (policy.yaml:${lineOf('name: legal-is')})
  more: ./signalbox policy explain ${folder} --case "legal may use what is dear"

not run  the spare one serves: the case names idle, which cannot be served (left out with its provider spare, which serves only while no other provider can)
failed   Europe is served wherever it runs
  ${place}:${lineOf('wherever')}:11
  with the variables of this environment:
  - cost_below_credits: below 100 Credits
  + refused: no_eligible_model
    2 models were rejected, each because the policy rejects it: eu-only (policy.yaml:${lineOf('name: eu-only')}): cheap, dear. \`eu-only\` allows endpoints of \`second\` (SECOND_KEY is not set), which cannot serve here
  more: ./signalbox policy explain ${folder} --case "Europe is served wherever it runs" --here

${folder}: 4 cases: 1 hold, 2 failed, 1 not run

Providers that cannot serve here: second (SECOND_KEY is not set), spare (it serves only while no other provider can)
`);
  });

  test('policy test names what rejected each model of a refused request, with locations of rules, the expected model first', async () => {
    const text = policy(`  - name: legal work in the EU
    given: { key: { labels: { department: legal, region: eu } } }
    expect: { model: dear }
  - name: refused otherwise
    given: { key: { labels: { department: legal, region: eu } } }
    expect: { refused: no_healthy_model }
`);
    const { out, code } = await run('test', newFolder(text));
    const at = (name: string) => `policy.yaml:${text.split('\n').findIndex((line) => line.includes(name)) + 1}`;
    const dear = `dear was rejected because the policy rejects it: legal-is-cheap (${at('name: legal-is')})`;
    const cheap = `cheap was rejected because the policy rejects it: eu-only (${at('name: eu-only')})`;
    expect(code).toBe(2);
    expect(out).toContain(`${dear}. ${cheap}`);
    expect(out).toContain(`${cheap}. ${dear}`);
  });

  test('policy test --json returns the same results', () => {
    const { cases, counts, coverage } = JSON.parse(json.out);
    expect(json.code).toBe(2);
    expect(counts).toEqual({ cases: 4, hold: 1, failed: 2, not_run: 1 });
    expect(cases[0]).toMatchObject({
      name: 'Europe is the "second" provider\'s',
      file: 'policy.yaml',
      line: lineOf('Europe is the'),
      column: 11,
      status: 'holds',
      failures: [],
      choice: 'dear',
      provider: 'second',
      reason: 'auto:usual',
      quality: 0.9,
      settings: [
        { settings: ['all_set'], status: 'holds' },
        { settings: ['here'], status: 'not_run', missing: [{ name: 'second', reason: 'SECOND_KEY is not set' }] },
      ],
    });
    expect(cases[1].failures[0]).toEqual({ key: 'task', expected: 'writing', got: 'coding', hint: null });
    const untouched = {
      kind: 'constraint',
      name: 'legal-is-cheap',
      file: 'policy.yaml',
      line: lineOf('name: legal-is'),
      column: 13,
    };
    expect(coverage).toEqual({ touched: 3, total: 4, percent: 75, min: null, enough: true, untouched: [untouched] });
  });

  test('policy test lists rules and models that no case uses, with locations, and ends with code 2 below the minimum', () => {
    expect(covered.code).toBe(0);
    expect(covered.out).toContain(`untouched  constraint  legal-is-cheap  ${place}:${lineOf('name: legal-is')}:13
Coverage: 75 %, 3 of 4 rules and models.
`);
  });

  test('policy test --here runs cases only with the variables that are set', () => {
    expect(here.code).toBe(2);
    expect(here.out).toContain('not run  Europe is the "second" provider\'s: the case names second');
    expect(here.out).toContain('--case "legal may use what is dear" --here');
    expect(here.out).toContain(`${folder}: 4 cases: 2 failed, 2 not run\n`);
  });

  test('policy test says in a sentence why it cannot run', async () => {
    const broken = newFolder(policy(CASES.replace('provider: second', 'provider: secnd')));
    const [wrong, nobody, tooMuch, below] = await Promise.all([
      run('test', broken),
      run('test', folder, '--case', 'the spre one serves'),
      run('test', folder, '--min', '101'),
      run('test', folder, '--case', 'Europe is the', '--min', '75.1'),
    ]);
    expect(wrong.code).toBe(2);
    expect(wrong.out).toContain('unknown-reference  there is no provider `secnd`');
    expect(wrong.out).toEndWith(`${broken}: 1 error, so no case was run\n`);
    expect(nobody).toMatchObject({ code: 1, out: '' });
    expect(nobody.err).toStartWith(
      'signalbox: No case has "the spre one serves" in its name. Similar names are `the spare one serves`',
    );
    expect(tooMuch).toMatchObject({
      code: 1,
      err: 'signalbox: --min must be a percentage from 0 to 100, not "101".\n',
    });
    expect(below.code).toBe(2);
    expect(below.out).toContain('3 of 4 rules and models; the minimum is 75.1 %.');
  });
});

test('policy test reports a file whose name is not UTF-8, and does not search forever', async () => {
  const made = newFolder(policy(CASES));
  writeFileSync(Buffer.concat([Buffer.from(`${made}/`), Buffer.from([0xff]), Buffer.from('.yaml')]), '\n');
  const { code, out } = await run('check', made);
  expect(code).toBe(2);
  expect(out).toContain('its name is not UTF-8');
});

describe('signalbox policy explain --case', () => {
  test('policy explain --case explains the request of a case with the facts of the case, whether it holds or not', async () => {
    const [failed, text, many] = await Promise.all([
      run('explain', folder, '--case', 'legal may', '--json'),
      run('explain', folder, '--case', 'wherever', '--here'),
      run('explain', folder, '--case', 'Europe'),
    ]);
    const body = JSON.parse(failed.out);
    expect(failed.code).toBe(0);
    expect(body.case).toMatchObject({ name: 'legal may use what is dear', status: 'failed', settings: ['all_set'] });
    expect(body.choice).toBe('cheap');
    expect(text.code).toBe(2);
    expect(text.out).toContain('Constraints that apply: eu-only');
    expect(text.out).toContain('The case fails: cost_below_credits is refused: no_eligible_model');
    expect(many.code).toBe(1);
    expect(many.err).toContain('"Europe" is in the names of 2 cases. Give more of one name');
  });
});

test('policy test --watch ends at once if there is nothing to watch', async () => {
  const { code, err } = await run('test', join(folder, 'nowhere'), '--watch');
  expect(code).toBe(1);
  expect(err).toContain('nowhere cannot be read');
});
