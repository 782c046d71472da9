import { afterAll, describe, expect, test } from 'bun:test';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { TASK_NAMES } from '../../src/core/tasks.ts';
import { GOLDEN } from '../policy/golden.ts';
import { runHere } from '../support/run-here.ts';
import { writePolicy } from '../support/signalbox.ts';

/** `signalbox policy check` on mistakes that newcomers make: each message leads to the mend. */
const MISTAKES: readonly (readonly [golden: string, place: string, mend: string])[] = [
  ['yaml-open-quote-above-others', 'p.yaml:3:11', 'end the text with `"`'],
  ['yaml-open-quote-ends-at-the-next', 'p.yaml:2:11', 'end the text with `"` on this line'],
  ['yaml-no-space-after-colon', 'p.yaml:4:5', 'write `window: day`'],
  ['yaml-no-space-after-colon-in-braces', 'p.yaml:2:41', 'write `window: day`'],
  ['address-of-a-variable', 'p.yaml:2:48', 'write `base_url_env: UPSTREAM_URL`'],
  ['yaml-variable-without-quotes', 'p.yaml:2:48', 'write `base_url_env: UPSTREAM_URL`'],
  ['address-without-scheme', 'p.yaml:2:48', 'write `https://api.example.com/v1`'],
  ['cel-field-of-the-caller', 'p.yaml:3:11', 'write `key.labels.department`'],
  ['model-with-fallbacks', 'p.yaml:8:5', 'Signalbox ranks the fallbacks of each request itself'],
  ['yaml-anchor-and-alias', 'p.yaml:1:18', 'remove `&w`'],
  ['yaml-markdown-fence', 'p.yaml:1:1', 'remove the lines 1 and 3'],
];

/** Later than the day on which some of the shipped figures were seen. */
const LATER = () => Date.parse('2026-11-23T12:00:00Z');

const TASKS_BUT_ONE = `tasks:\n${TASK_NAMES.filter((name) => name !== 'chat')
  .map((name) => `  ${name}: { expected_output_tokens: 100, default_input_tokens: 100 }\n`)
  .join('')}`;

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const MENDED: Readonly<Record<string, string>> = { 'base.yaml': readFileSync(join(GOLDEN, 'base.yaml'), 'utf8') };

describe('signalbox policy check', () => {
  test.each(MISTAKES)('%s: shows the place and the mend', async (golden, place, mend) => {
    const folder = writePolicy({ ...MENDED, 'p.yaml': readFileSync(join(GOLDEN, golden, 'p.yaml'), 'utf8') });
    folders.push(folder);
    const { out, code } = await runHere(['policy', 'check', folder]);
    expect(code).toBe(2);
    expect(out).toContain(place);
    expect(out).toContain(mend);
  });

  test('says in one line that an untouched clone is right', async () => {
    const { out, code } = await runHere(['policy', 'check'], {}, '', LATER);
    expect(code).toBe(0);
    expect(out).toMatch(
      /^\S+policies: \d+ files, \d+ models, \d+ cases, nothing wrong\. \d+ figures are older than 90 days, \d+ providers cannot serve here: --all\n$/,
    );
    const { out: all } = await runHere(['policy', 'check', '--all'], {}, '', LATER);
    expect(all.match(/ stale-figure /g)).toHaveLength(Number(/(\d+) figures/.exec(out)?.[1]));
    expect(all).toContain('openai (OPENAI_API_KEY is not set)');
  });

  test('says in a line what version 2 changes in a policy of version 1', async () => {
    const check = async (more: string) => {
      const folder = writePolicy({ ...MENDED, 'p.yaml': more });
      folders.push(folder);
      return { folder, ...(await runHere(['policy', 'check', folder])) };
    };
    const tuned = 'answer_worth: 30\nselectors: { auto: { strategy: auto, options: { quality: 1 } } }\n';
    const { folder, out, code } = await check(`${tuned}language_worth: 0.1\n${TASKS_BUT_ONE}`);
    expect(code).toBe(0);
    expect(out.trimEnd().split('\n').at(-1)).toBe(
      `\`version: 2\` would change unstated_latency, unstated_languages, the sizes of 1 task, the options of \`auto\`: ./signalbox policy diff ${folder} --as-version 2`,
    );
    const all = `unstated_latency: neutral\nunstated_languages: exclude\nlanguage_worth: 0.04\n${TASKS_BUT_ONE}  chat: { expected_output_tokens: 1, default_input_tokens: 1 }
selectors: { auto: { strategy: auto, options: { quality: 1, cost: 1, latency: 1, patience_ms: 9 } } }\n`;
    expect((await check(all)).out).toContain('`version: 2` would change nothing here.');
  });

  test('shows which cases version 2 changes', async () => {
    const rust =
      '{ name: rust, given: { constraints: { required_languages: [elixir] } }, expect: { refused: no_eligible_model } }';
    const folder = writePolicy({
      ...MENDED,
      'p.yaml': `cases:\n  - ${rust}\n  - { name: usual, given: {}, expect: { model: large } }\n`,
    });
    folders.push(folder);
    const { out, code } = await runHere(['policy', 'diff', folder, '--as-version', '2']);
    expect(code).toBe(2);
    expect(out).toContain('~ version: 1 → 2');
    expect(out).toContain('case `rust`');
    expect(out).toContain('Decided differently: 1 of 2 cases');
    // The other way round, for whoever wants the former defaults back.
    expect((await runHere(['policy', 'diff', folder, '--as-version', '1'])).code).toBe(0);
    expect((await runHere(['policy', 'diff', folder, '--as-version', '3'])).err).toContain(
      '--as-version must be one of 1, 2, not 3',
    );
    expect((await runHere(['policy', 'diff', folder, folder, '--as-version', '2'])).err).toContain(
      'so it takes at most one',
    );
  });
});
