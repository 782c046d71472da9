import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { Static } from '@sinclair/typebox';
import type { Page } from 'playwright-core';
import type { PolicyFiles } from '../../../src/admin/policy-answers.ts';
import type { PolicyCheck, PolicyTest } from '../../../src/admin/policy-tool-answers.ts';
import { deeply, orDeeply } from '../../deep/deeply.ts';
import { waitFor } from '../../support/answers.ts';
import { axeFinds, type ConsoleStage, openConsole, openStage, overflowOf } from './stage.ts';

/** Tests of editing policies as a person would: typing, completion, review and saving, also after another person saved first. */
const RULES = `# Rules of the gateway.
constraints:
  - name: night-is-cheap
    when: time.hour >= 22
    max_cost_credits: 5000
cases:
  - name: a greeting goes to the best model
    given: { model: auto, messages: [{ role: user, content: "Hello" }] }
    expect: { model: claude-mirror-4 }
`;

let stage: ConsoleStage;
beforeAll(async () => {
  stage = await openStage(0, undefined, { 'rules.yaml': RULES });
});
afterAll(() => stage.stop());

type Files = Static<typeof PolicyFiles>;
const files = async (): Promise<Files> => JSON.parse(await (await stage.box.get('/admin/policy/files')).text());
const textOf = async (name: string) => (await files()).files.find((file) => file.name === name)?.text ?? null;

/** Writes a file through the API, as another person would, while the page uses the same key. */
async function writeElsewhere(name: string, text: string): Promise<void> {
  const write = async () =>
    await fetch(`${stage.box.url}/admin/policy/files`, {
      method: 'PUT',
      headers: {
        authorization: `Bearer ${stage.box.key}`,
        'content-type': 'application/json',
        'if-match': `"${(await files()).revision}"`,
      },
      body: JSON.stringify({ changes: [{ name, text }] }),
    });
  expect(
    (
      await waitFor(async () => {
        const { status } = await write();
        return status === 429 ? null : { status };
      })
    ).status,
  ).toBe(200);
}

const FILE = '/policies/files/rules.yaml';

/** Opens the editor of the file with the cursor at the end. */
async function openEditor(options: Parameters<typeof openConsole>[1] = {}) {
  const opened = await openConsole(stage, { path: FILE, ...options });
  await opened.page.locator('.cm-content').click();
  await opened.page.keyboard.press('Control+End');
  return opened;
}

/** Returns the text of the editor as it would be saved. */
const shownText = (page: Page) =>
  page
    .locator('.cm-content')
    .evaluate((content) => [...content.querySelectorAll('.cm-line')].map((line) => line.textContent).join('\n'));

const isJudged = (page: Page, words: string) => page.locator('.policies-bar', { hasText: words }).waitFor();
const putInForce = (page: Page) => page.getByRole('button', { name: 'Apply edit' });

describe('the editor', () => {
  test('the editor keeps every letter of fast typing, even while the page draws', async () => {
    const { page } = await openEditor();
    const typed = '# the quick brown fox jumps over the lazy dog, and over it again';
    await page.keyboard.type(typed);
    expect(await shownText(page)).toBe(RULES + typed);
  });

  test('the editor shows the server’s own diagnostics while you type, and each leads to its location', async () => {
    const { page } = await openEditor();
    await page.keyboard.type('budgets:\n- { name: x, windo: day }');
    const found = page.locator('.policies-diagnostics li', { hasText: 'windo' }).first();
    await found.waitFor();
    expect(await page.locator('.cm-lint-marker-error').count()).toBeGreaterThan(0);
    await page.keyboard.press('Control+Home');
    await found.locator('a').click();
    expect(new URL(page.url()).searchParams.get('line')).toBe('11');
    await page.locator('.cm-activeLine', { hasText: 'windo' }).waitFor();
    // The link works a second time.
    await page.keyboard.press('Control+Home');
    await page.locator('.cm-activeLine', { hasText: 'Rules' }).waitFor();
    await found.locator('a').click();
    await page.locator('.cm-activeLine', { hasText: 'windo' }).waitFor();
    expect(await putInForce(page).isDisabled()).toBe(true);
  });

  deeply('completes the keys and the words of the place, and explains a key under the pointer', async () => {
    const { page } = await openEditor();
    await page.keyboard.type('budgets:\n- { name: x, wind');
    const option = page.locator('.cm-tooltip-autocomplete li');
    await option.filter({ hasText: 'window' }).click();
    expect(await shownText(page)).toEndWith('{ name: x, window: ');
    await page.keyboard.press('Control+Space');
    await option.filter({ hasText: 'month' }).waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.cm-line', { hasText: 'max_cost_credits' }).locator('span').first().hover();
    await page.locator('.cm-help', { hasText: 'Credits' }).waitFor();
  });

  deeply('is left by Escape and Tab, which its label says; Tab alone indents', async () => {
    const { page } = await openEditor();
    const content = page.locator('.cm-content');
    expect(await content.getAttribute('aria-label')).toContain('Escape, then Tab to leave the editor');
    await page.keyboard.press('Tab');
    expect(await shownText(page)).toBe(`${RULES}  `);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Tab');
    expect(
      await content.evaluate((shown) => shown.getRootNode() === shown.ownerDocument || shown.matches(':focus')),
    ).toBe(false);
  });

  deeply('opens at the line of a link, and a click on a number makes one', async () => {
    const { page } = await openConsole(stage, { path: `${FILE}?line=4` });
    await page.locator('.cm-activeLine', { hasText: 'time.hour' }).waitFor();
    await page.locator('.cm-lineNumbers .cm-gutterElement', { hasText: /^7$/ }).click();
    expect(new URL(page.url()).searchParams.get('line')).toBe('7');
  });

  deeply('keeps an edit from view to view, and asks before the page is left', async () => {
    const { page } = await openEditor();
    await page.keyboard.type('# kept');
    const views = page.getByRole('navigation', { name: 'Views' });
    await views.getByRole('link', { name: 'Fleet' }).click();
    await views.getByRole('link', { name: 'Policies' }).click();
    await page.getByRole('link', { name: 'rules.yaml', exact: true }).click();
    await page.locator('.cm-line', { hasText: '# kept' }).waitFor();
    const asked = page.waitForEvent('dialog');
    const leaving = page.reload();
    const dialog = await asked;
    expect(dialog.type()).toBe('beforeunload');
    await dialog.accept();
    await leaving;
  });
});

for (const [theme, width] of orDeeply<readonly ['light' | 'dark', number]>([['dark', 390]], [['light', 1_280]])) {
  test(`an edit and its review have no finding of axe, violate no rule of the page and fit ${width} px (${theme})`, async () => {
    const { page, faults } = await openEditor({ theme, width });
    await page.keyboard.type('strong_from: 0.25\nnowhere: 1');
    await page.locator('.policies-diagnostics li').first().waitFor();
    expect(await axeFinds(page)).toEqual([]);
    expect(await overflowOf(page)).toBeLessThanOrEqual(0);
    await page.getByRole('link', { name: 'Review edit' }).click();
    await page.locator('.cm-changedLine, .cm-insertedLine, .cm-inlineChangedLine').first().waitFor();
    expect(await axeFinds(page)).toEqual([]);
    expect(faults).toEqual([]);
  });
}

describe('an edit', () => {
  test('an authorized person activates an edit after a preview of its effect, and undoes it', async () => {
    const { page } = await openEditor();
    const { revision } = await files();
    await page.keyboard.type('strong_from: 0.25\n');
    await isJudged(page, 'It has no error');
    await page.getByRole('link', { name: 'Review edit' }).click();
    await page.getByRole('heading', { name: '1 declaration differs.' }).waitFor();
    await page.getByRole('heading', { name: 'Both policies decide the one case alike.' }).waitFor();
    await putInForce(page).click();
    await page.locator('.toast', { hasText: 'is active' }).waitFor();
    expect(await textOf('rules.yaml')).toBe(`${RULES}strong_from: 0.25\n`);
    expect(await page.locator('.policies-bar').count()).toBe(0);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.locator('.toast', { hasText: 'is active again' }).waitFor();
    expect(await textOf('rules.yaml')).toBe(RULES);
    expect((await files()).revision).toBe(revision);
    await page.locator('.policies-bar', { hasText: 'rules.yaml' }).waitFor();
  });

  test('an edit of one file is undone by a button with the name of the change, and the message brings it back', async () => {
    const { page } = await openEditor();
    await page.keyboard.type('strong_from: 0.25\n');
    await page.locator('.policies-bar').waitFor();
    expect(await page.getByRole('button', { name: 'Undo removal' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Undo edit' }).click();
    await page.locator('.policies-bar').waitFor({ state: 'detached' });
    await page.locator('.cm-line', { hasText: 'strong_from' }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Undo', exact: true }).click();
    await page.locator('.cm-line', { hasText: 'strong_from' }).waitFor();
    await page.getByRole('button', { name: 'Remove file' }).click();
    await page.getByRole('button', { name: 'Undo removal' }).click();
    await page.locator('.policies-bar').waitFor({ state: 'detached' });
    expect(await textOf('rules.yaml')).toBe(RULES);
  });

  test('an edit of an outdated revision is kept, and overwrites the stored files only if the person chooses so', async () => {
    const { page } = await openEditor();
    await page.keyboard.press('Control+Home');
    await page.keyboard.press('End');
    await page.keyboard.type(' Mine.');
    await isJudged(page, 'It has no error');
    const theirs = RULES.replace('gateway.', 'gateway. Theirs.');
    await writeElsewhere('rules.yaml', theirs);
    await putInForce(page).click();
    await page.locator('.notice', { hasText: 'The new revision also changed rules.yaml.' }).waitFor();
    expect(await putInForce(page).isDisabled()).toBe(true);
    expect(await textOf('rules.yaml')).toBe(theirs);
    await page.getByRole('link', { name: 'Show what changed' }).click();
    await page.locator('.cm-line', { hasText: 'Theirs.' }).first().waitFor();
    await page.getByRole('button', { name: 'Load stored files' }).click();
    await page.locator('.policies-bar').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('button', { name: 'Keep my edit' }).click();
    await page.locator('.cm-line', { hasText: 'Mine.' }).first().waitFor();
    await isJudged(page, 'It has no error');
    await putInForce(page).click();
    await page.locator('.toast', { hasText: 'is active' }).waitFor();
    expect(await textOf('rules.yaml')).toBe(RULES.replace('gateway.', 'gateway. Mine.'));
    await writeElsewhere('rules.yaml', RULES);
  });

  deeply('saved over a revision that changed another file keeps that change', async () => {
    await writeElsewhere('other.yaml', 'strong_from: 0.25\n');
    const { page } = await openEditor();
    await page.keyboard.type('# Mine.');
    await isJudged(page, 'It has no error');
    await writeElsewhere('other.yaml', 'strong_from: 0.5\n');
    await putInForce(page).click();
    await page.locator('.notice', { hasText: 'The new revision did not change the files that you edited.' }).waitFor();
    await page.getByRole('button', { name: 'Keep my edit' }).click();
    await isJudged(page, 'It has no error');
    await putInForce(page).click();
    await page.locator('.toast', { hasText: 'is active' }).waitFor();
    expect([await textOf('rules.yaml'), await textOf('other.yaml')]).toEqual([`${RULES}# Mine.`, 'strong_from: 0.5\n']);
    await writeElsewhere('other.yaml', '{}\n');
    await writeElsewhere('rules.yaml', RULES);
  });

  test('a guarded edit says who may save it, and can be exported as a patch', async () => {
    const { page } = await openEditor();
    await page.keyboard.type('console: { enabled: true }\n');
    await page.locator('.policies-guarded', { hasText: 'Only an owner may apply this edit' }).waitFor();
    expect(await putInForce(page).isDisabled()).toBe(true);
    const started = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download patch' }).click();
    const download = await started;
    expect(download.suggestedFilename()).toBe('policy.patch');
    expect(readFileSync(await download.path(), 'utf8')).toContain('+console: { enabled: true }');
    expect(await textOf('rules.yaml')).toBe(RULES);
  });

  deeply('of an auditor leaves as a patch alone', async () => {
    const { page } = await openEditor({ role: 'auditor' });
    await page.keyboard.type('strong_from: 0.25\n');
    await isJudged(page, 'It has no error');
    expect(await putInForce(page).count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Download patch' }).isEnabled()).toBe(true);
    await page.getByText('may read the policy but not write it').waitFor();
  });

  deeply('can be thrown away, after a question, and brought back', async () => {
    const { page } = await openEditor();
    await page.keyboard.type('# gone');
    await page.getByRole('button', { name: 'Discard edit' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Discard edit' }).click();
    await page.locator('.cm-line', { hasText: '# gone' }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.locator('.cm-line', { hasText: '# gone' }).waitFor();
  });
});

deeply('an error stands before the warnings of other files', async () => {
  const figures =
    'latency: { ttft_ms: 9, output_tokens_per_second: 90, basis: guessed }, quality: { default: 0.1, basis: guessed }';
  const price = '{ input: 9000, output: 36000, as_of: 2024-01-01, basis: own }';
  const aged = `{ provider: north, price: ${price}, context_window: 32768, max_output: 256, ${figures} }`;
  await writeElsewhere('aged.yaml', `models:\n  aged: ${aged}\n`);
  const { page } = await openEditor();
  await page.keyboard.type('\nno_such_key: 1');
  await page.getByText('This file has 1 error.').waitFor();
  await page
    .getByRole('tab', { name: 'Files' })
    .or(page.getByRole('link', { name: 'Files' }))
    .first()
    .click();
  await page.getByRole('heading', { name: /^1 error and [1-9]/ }).waitFor();
  const found = page.getByRole('list', { name: 'Diagnostics' }).getByRole('listitem');
  expect(await found.first().textContent()).toStartWith('Error');
  expect(await found.last().textContent()).toStartWith('Warning');
  await page.getByRole('button', { name: 'Discard edit' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Discard edit' }).click();
  await writeElsewhere('aged.yaml', '{}\n');
});

test('the page shows the cases with the results and coverage of the admin API, filtered by the URL', async () => {
  // A page of the previous test may still be testing its policy, and only one test runs at a time.
  const body: Static<typeof PolicyTest> = await waitFor(async () => {
    const answer = await stage.box.post('/admin/policy/test', {});
    return answer.ok && JSON.parse(await answer.text());
  });
  const { page } = await openConsole(stage, { path: '/policies/cases' });
  await page.locator('.hero-value', { hasText: `${body.counts?.hold} of ${body.counts?.cases}` }).waitFor();
  const { touched = 0, total = 0 } = body.coverage ?? {};
  await page.getByText(`${touched} of ${total} rules and models`).waitFor();
  await page.getByRole('link', { name: 'a greeting goes to the best model' }).waitFor();
  await page.getByLabel('Result', { exact: true }).selectOption({ label: 'Failed' });
  expect(new URL(page.url()).searchParams.get('result')).toBe('failed');
  await page.getByText('No case matches').waitFor();
});

test('the page shows what each selector chooses, as the admin API does, also with an edit', async () => {
  const checked = (body: object): Promise<Static<typeof PolicyCheck>> =>
    waitFor(async () => {
      const answer = await stage.box.post('/admin/policy/check', body);
      return answer.ok && JSON.parse(await answer.text());
    });
  const EDIT = `${RULES}preferences: [{ name: p, prefer: 'model.id == "gpt-6-luna"', worth: 1 }]\nstrong_from: 0.001\n`;
  const before = await checked({ choices: 'all_set' });
  const after = await checked({ choices: 'all_set', changes: [{ name: 'rules.yaml', text: EDIT }] });
  const shownIn = async (page: Page) =>
    await page
      .getByRole('table', { name: 'Choices' })
      .locator('tbody tr:not(.table-space)')
      .evaluateAll((rows) =>
        rows.map((row) =>
          [...row.querySelectorAll('td')].map((cell) => (cell.textContent ?? '').trim().split(/\s/)[0]),
        ),
      );
  const expected = ({ choices }: Static<typeof PolicyCheck>) => {
    const rows = Map.groupBy(choices ?? [], ({ task, difficulty }) => `${task} ${difficulty}`);
    return [...rows.values()].map((all) => [
      all[0]!.task,
      all[0]!.difficulty,
      ...all.map(({ model }) => model ?? 'no'),
    ]);
  };
  expect(expected(before)).not.toEqual(expected(after));
  const { page } = await openConsole(stage, { path: '/policies/choices' });
  await page.getByRole('table', { name: 'Choices' }).waitFor();
  expect(await shownIn(page)).toEqual(expected(before));
  await page.getByLabel('Difficulty', { exact: true }).selectOption({ label: 'hard' });
  expect(await shownIn(page)).toEqual(expected(before).filter(([, difficulty]) => difficulty === 'hard'));
  expect(await axeFinds(page)).toEqual([]);
  await page.getByLabel('Difficulty', { exact: true }).selectOption({ label: 'All' });
  await page.getByRole('link', { name: 'Files' }).first().click();
  await page.getByRole('link', { name: 'rules.yaml' }).first().click();
  await page.locator('.cm-content').click();
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText(EDIT);
  await page.getByRole('link', { name: 'Choices' }).first().click();
  await waitFor(async () => Bun.deepEquals(await shownIn(page), expected(after)));
  await page.getByRole('button', { name: 'Discard edit' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Discard edit' }).click();
  const narrow = await openConsole(stage, { path: '/policies/choices', width: 390 });
  await narrow.page.getByRole('table', { name: 'Choices' }).waitFor();
  expect(await overflowOf(narrow.page)).toBeLessThanOrEqual(0);
});

deeply('a revision of before is found, compared with that in force, and edited back to', async () => {
  await writeElsewhere('rules.yaml', `${RULES}strong_from: 0.5\n`);
  const { page } = await openConsole(stage, { path: '/policies/revisions' });
  await page.getByRole('link', { name: 'With the active policy' }).first().click();
  await page.getByText('strong_from', { exact: false }).first().waitFor();
  const before = new URL(page.url()).searchParams.get('a') ?? '';
  await page.goto(`${stage.box.url}/console/policies/revisions/${before}`);
  await page.getByRole('button', { name: 'Restore in an edit' }).click();
  await page.locator('.policies-bar', { hasText: 'Your edit' }).waitFor();
  await writeElsewhere('rules.yaml', RULES);
});
