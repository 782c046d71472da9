import { afterAll, describe, expect, test } from 'bun:test';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { openStore } from '../../src/store/open.ts';
import { GOLDEN } from '../policy/golden.ts';
import { runHere } from '../support/run-here.ts';
import { temporaryFolder, writePolicy } from '../support/signalbox.ts';

/** Tests `signalbox policy check` on mistakes that newcomers make. Each message leads to the fix. */
const MISTAKES: readonly (readonly [golden: string, place: string, mend: string])[] = [
  ['regions-of-a-model', 'p.yaml:3:29', 'did you mean `endpoint.regions`?'],
  ['regions-in-a-filter', 'p.yaml:2:65', 'only the `require` of a constraint sees `endpoint.regions`'],
  ['selector-list-of-models', 'p.yaml:2:35', `write \`models: { require: 'model.id in ["tiny", "large"]' }\``],
  [
    'cel-text-of-the-request',
    'p.yaml:3:19',
    'rules do not see the text of a request: use what Signalbox reads from it, such as `request.task`',
  ],
  ['budget-of-a-team', 'p.yaml:2:20', 'write `match: team.name == "legal"` for the keys of a team'],
  ['default-model', 'p.yaml:1:1', 'callers send the name of a selector as `model`'],
  ['api-key-of-a-variable', 'p.yaml:2:27', 'write `api_key_env: OPENAI_API_KEY`'],
  ['api-key-of-litellm', 'p.yaml:2:27', 'write `api_key_env: OPENAI_API_KEY`'],
  ['api-key-of-litellm', 'p.yaml:3:41', 'write `OPENAI_API_KEY` without `os.environ/`'],
  ['yaml-open-quote-above-others', 'p.yaml:3:11', 'end the text with `"`'],
  ['yaml-open-quote-ends-at-the-next', 'p.yaml:2:11', 'end the text with `"` on this line'],
  ['yaml-no-space-after-colon', 'p.yaml:4:5', 'write `window: day`'],
  ['yaml-no-space-after-colon-in-braces', 'p.yaml:2:41', 'write `window: day`'],
  ['address-of-a-variable', 'p.yaml:2:48', 'write `base_url_env: UPSTREAM_URL`'],
  ['yaml-variable-without-quotes', 'p.yaml:2:48', 'write `base_url_env: UPSTREAM_URL`'],
  ['address-without-scheme', 'p.yaml:2:48', 'write `https://api.example.com/v1`'],
  ['cel-field-of-the-caller', 'p.yaml:3:16', 'to read a label of the key, write `key.labels.department`'],
  ['model-with-fallbacks', 'p.yaml:1:1', 'write `fallbacks` in the model or selector that it belongs to'],
  ['yaml-anchor-and-alias', 'p.yaml:1:18', 'remove `&w`'],
  ['yaml-markdown-fence', 'p.yaml:1:1', 'remove the lines 1 and 3'],
  ['rule-with-then', 'p.yaml:4:5', 'did you mean `require`?'],
  ['rule-with-then', 'p.yaml:6:25', 'write `require: model.id in ["tiny", "large"]`'],
  ['cel-object-against-text', 'p.yaml:2:23', '`team` is an object: write `team.name == "legal"`'],
  ['cel-or-between-texts', 'p.yaml:2:48', 'write a list: `request.task in ["coding", "chat"]`'],
  ['or-between-names', 'p.yaml:4:68', 'write a list: [tiny, large]'],
  ['list-without-a-dash', 'p.yaml:2:3', 'a list needs a dash before the first key of each item: `- name: no-flagship`'],
  ['list-second-dash-missing', 'p.yaml:4:5', 'put a dash before it: `- name: second`'],
  ['yaml-dash-missing', 'p.yaml:4:3', 'a list needs a dash before the first key of each item: `- name: second`'],
  ['yaml-dash-without-a-space', 'p.yaml:2:3', 'write `- name: first`'],
  ['model-with-a-flat-price', 'p.yaml:4:5', 'write `price: { input: 3, output: 12.50 }`'],
  ['credits-in-usd', 'p.yaml:8:16', 'write `max_cost_credits: 0.05 USD`'],
];

/** Later than the day on which some of the shipped figures were checked. */
const LATER = () => Date.parse('2026-11-23T12:00:00Z');

/** Mistakes of meaning. The policy loads, with a warning. */
const SLIPS: readonly (readonly [golden: string, place: string, warning: string, mend: string])[] = [
  [
    'region-excluded-by-negation',
    'p.yaml:10:15',
    'allows 1 endpoint without `regions`, of `nowhere`',
    '`"eu" in endpoint.regions`',
  ],
  ['budget-in-usd', 'p.yaml:2:40', '0.5 Credits are 0.0005 USD', 'if you mean 0.5 USD, write `limit_usd: 0.5`'],
  ['budget-in-usd', 'p.yaml:3:37', '0.5 Credits are 0.0005 USD', 'requests that could cost more are refused'],
  ['region-in-capitals', 'p.yaml:4:15', 'no endpoint has the region `EU`', 'did you mean `"eu"`?'],
  ['tag-misspelt', 'p.yaml:3:15', 'no model has the tag `privat`', 'did you mean `"private"`?'],
  ['private-host', 'p.yaml:2:48', 'probably leads to a private network', 'add `allow_private_network: true`'],
];

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const MENDED: Readonly<Record<string, string>> = { 'base.yaml': readFileSync(join(GOLDEN, 'base.yaml'), 'utf8') };

test('an address without a path is reported only for services that have their API at a path', async () => {
  const folder = writePolicy(`version: 1
providers:
  bare: { adapter: openai-compatible, base_url: "http://127.0.0.1:8000" }
  ours: { preset: ollama, base_url: "http://127.0.0.1:11434" }
  whole: { adapter: openai-compatible, base_url: "http://127.0.0.1:8000/v1" }
  pathless: { adapter: openai-compatible, base_url: "https://api.perplexity.ai/" }
  claude: { adapter: anthropic, base_url: "https://claude.example", api_key_env: CLAUDE_KEY }
models:
  m: { provider: whole, price: { input: 0, output: 0, basis: own }, context_window: 9000, max_output: 900, quality: { default: 0.5, basis: guessed } }
`);
  const { out } = await runHere(['policy', 'check', folder, '--json']);
  const { diagnostics } = JSON.parse(out) as { diagnostics: { code: string; line: number; hint: string }[] };
  const found = diagnostics.filter(({ code }) => code === 'address-without-path');
  expect(found.map(({ line }) => line)).toEqual([3, 4, 7]);
  expect(found[1]?.hint).toStartWith('write `http://127.0.0.1:11434/v1`');
  rmSync(folder, { recursive: true, force: true });
});

describe('signalbox policy check', () => {
  test.each(MISTAKES)('%s: policy check shows the location and the fix', async (golden, place, mend) => {
    const folder = writePolicy({ ...MENDED, 'p.yaml': readFileSync(join(GOLDEN, golden, 'p.yaml'), 'utf8') });
    folders.push(folder);
    const { out, code } = await runHere(['policy', 'check', folder]);
    expect(code).toBe(2);
    expect(out).toContain(place);
    expect(out).toContain(mend);
  });

  test('policy check shows the hint above the list of known keys', async () => {
    const folder = writePolicy({ ...MENDED, 'p.yaml': 'constrains: []\n' });
    folders.push(folder);
    const { out } = await runHere(['policy', 'check', folder]);
    expect(out).toMatch(/hint: did you mean `constraints`\?\n {2}expected: one of /);
  });

  test.each(SLIPS)(
    '%s: policy check warns about the effect and shows the fix',
    async (golden, place, warning, mend) => {
      const folder = writePolicy({ ...MENDED, 'p.yaml': readFileSync(join(GOLDEN, golden, 'p.yaml'), 'utf8') });
      folders.push(folder);
      const { out, code } = await runHere(['policy', 'check', folder]);
      expect(code).toBe(0);
      for (const text of [`${place}  warning`, warning, mend]) expect(out).toContain(text);
    },
  );

  test('policy check shows what every amount of USD became in Credits, and warns where nothing is left of it', async () => {
    const text = `credits: { usd_per_credit: 0.003 }
budgets:
  - { name: month, limit_usd: 20, window: month }
  - { name: day, limit_credits: 20, window: day }
teams: [{ name: search, budgets: [{ limit_credits: 3 USD, window: day }, { limit_usd: 0.000000001, window: week }] }]
constraints: [{ name: cheap, when: key.id == "x", max_cost_credits: $0.3 }]
`;
    const folder = writePolicy({ ...MENDED, 'p.yaml': text });
    folders.push(folder);
    const shown = await runHere(['policy', 'check', folder]);
    expect(shown).toMatchObject({ code: 0 });
    expect(shown.out).toMatch(/budgets\.month\.limit_usd: 20 USD = 6,666\.666666 Credits\n/);
    expect(shown.out).toMatch(/warning nothing-to-spend {2}`teams\.search\.budgets\[1\]\.limit_usd`/);
    const { out } = await runHere(['policy', 'check', folder, '--json']);
    const { amounts_in_usd: amounts } = JSON.parse(out) as { amounts_in_usd: readonly { path: string }[] };
    expect(amounts.toSorted((a, b) => (a.path < b.path ? -1 : 1)) as unknown).toEqual([
      { path: 'budgets.month.limit_usd', usd: '20', credits: 6_666.666666 },
      { path: 'constraints.cheap.max_cost_credits', usd: '0.3', credits: 100 },
      { path: 'teams.search.budgets[0].limit_credits', usd: '3', credits: 1_000 },
      { path: 'teams.search.budgets[1].limit_usd', usd: '0.000000001', credits: 0 },
    ]);
  });

  test('policy check warns about a budget that is small for the models with a key here, unless one of them is free', async () => {
    const budget = 'budgets:\n  - { name: b, limit_credits: 5, window: day, on_exhausted: reject }\n';
    const free = `providers:
  mine: { adapter: openai-compatible, base_url_env: MINE_URL }
models:
  own: { provider: mine, price: { input: 0, output: 0, as_of: 2026-10-07, basis: own }, context_window: 8192, max_output: 2048, quality: { default: 0.5, basis: guessed } }
`;
    const priced = MENDED['base.yaml']!.replace('output: 0.40', 'output: 4.00');
    const folder = writePolicy({ 'base.yaml': priced, 'p.yaml': budget + free });
    folders.push(folder);
    const unset = await runHere(['policy', 'check', folder, '--strict'], {}, '', LATER);
    expect(unset.code).toBe(2);
    expect(unset.out.match(/warning small-budget/g)).toHaveLength(1);
    const set = await runHere(['policy', 'check', folder], { MINE_URL: 'http://127.0.0.1:9' }, '', LATER);
    expect(set.out).not.toContain('small-budget');
  });

  test('policy check warns about labels that no key has but that are similar to labels of keys', async () => {
    const data = temporaryFolder();
    const rule = (when: string, at: number) => `  - { name: r${at}, when: '${when}', max_cost_credits: 3 }\n`;
    const rules = [
      'key.labels.teams == "a"',
      'key.labels.team == "Legal"',
      'key.labels.team == "sales"',
      'key.labels.role == "a"',
    ];
    const folder = writePolicy({ ...MENDED, 'p.yaml': `constraints:\n${rules.map(rule).join('')}` });
    folders.push(folder, data);
    expect((await runHere(['policy', 'check', folder, '--data', data])).out).toContain('nothing wrong');
    const store = await openStore(join(data, 'signalbox.db'), { mode: 'serve' });
    await store.close();
    await runHere(['keys', 'create', '--name', 'k', '--label', 'team=legal', '--data', data]);
    const { out, code } = await runHere(['policy', 'check', folder, '--data', data]);
    expect(code).toBe(0);
    expect(out.match(/ misspelt-value {2}.*/g)).toEqual([
      ' misspelt-value  no key has the label `teams`',
      ' misspelt-value  no key has the label `team` with `Legal`',
    ]);
    expect(out).toContain('did you mean `key.labels.team`?');
    expect(out).toContain('did you mean `"legal"`?');
  });

  test('policy check says in one line that an unchanged clone is valid', async () => {
    const { out, code } = await runHere(['policy', 'check'], {}, '', LATER);
    expect(code).toBe(0);
    expect(out).toMatch(
      /^\S+policies: \d+ files, \d+ models, \d+ wildcards, \d+ cases, nothing wrong\. \d+ figures are older than 90 days, \d+ providers cannot serve here: --all\n$/,
    );
    const { out: all } = await runHere(['policy', 'check', '--all'], {}, '', LATER);
    expect(all.match(/ stale-figure /g)).toHaveLength(Number(/(\d+) figures/.exec(out)?.[1]));
    expect(all).toContain('openai (OPENAI_API_KEY is not set)');
  });
});
