import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { deeply } from '../../deep/deeply.ts';
import { waitFor } from '../../support/answers.ts';
import {
  axeFinds,
  CONSOLE_POLICY,
  type ConsoleStage,
  chartsWithoutTwin,
  openConsole,
  openStage,
  overflowOf,
  settled,
} from './stage.ts';

/** Tests of the view Requests, operated as a person would. */
let stage: ConsoleStage;
let decision: string;

const RULES = `
constraints:
  - { name: no-mirror-for-long, when: 'request.input_tokens > 200', require: 'model.id != "claude-mirror-4"' }
preferences:
  - { name: prefer-breeze, when: 'true', prefer: 'model.id == "mistral-breeze"', worth: 0.05 }
records: { content: { keep: [prompt, answer] } }
`;
/** A row of the detail's money table, with exact USD and Credits from its hover text. */
interface MoneyRow {
  readonly what: string;
  readonly credits: number;
}

beforeAll(async () => {
  stage = await openStage(12, CONSOLE_POLICY.replace('limit_credits: 400', 'limit_credits: 400000') + RULES);
  const long = `Write a story. <b>bold</b> ${'More words please. '.repeat(80)}`;
  decision = await ask({ model: 'auto', messages: [{ role: 'user', content: long }], max_tokens: 60, stream: true });
});
afterAll(() => stage.stop());

async function ask(body: object): Promise<string> {
  const answer = await stage.box.post('/v1/chat/completions', body);
  expect(answer.status).toBe(200);
  await answer.text();
  return answer.headers.get('x-signalbox-decision-id') ?? '';
}

const rowsOf = (page: Page) => page.getByRole('table', { name: 'Requests' }).locator('tbody tr:not(.table-space)');
const story = (page: Page) => page.locator('.requests-story').first();

test('a request opens from the list, and its first sentence says why Signalbox chose its model', async () => {
  const { page, faults } = await openConsole(stage, { path: '/requests?status=completed' });
  await rowsOf(page).first().click();
  await page.getByRole('heading', { name: 'Request', exact: true }).waitFor();
  expect(new URL(page.url()).pathname).toBe(`/console/requests/${decision}`);
  await story(page).waitFor();
  const recorded: { choice: string; choice_reason: string; policy_revision: string } = JSON.parse(
    await (await stage.box.get(`/admin/decisions/${decision}`)).text(),
  );
  const answer = await story(page).locator('.requests-answer').textContent();
  expect(answer?.trim()).toStartWith(`It went to ${recorded.choice}. ${recorded.choice_reason}. ${recorded.choice}: `);
  const words = (await story(page).textContent()) ?? '';
  expect(words).toContain(
    'claude-mirror-4 was rejected because the policy rejects it: no-mirror-for-long (policy.yaml:',
  );
  expect(words).toContain('Preferences that apply: prefer-breeze (policy.yaml:');
  const rule = story(page)
    .getByRole('link', { name: /^policy\.yaml:\d+$/ })
    .first();
  const href = new URL((await rule.getAttribute('href')) ?? '', stage.box.url);
  expect([href.pathname, href.searchParams.get('file')]).toEqual([
    `/console/policies/revisions/${recorded.policy_revision}`,
    'policy.yaml',
  ]);
  expect(Number(href.searchParams.get('line'))).toBeGreaterThan(30);
  expect(await axeFinds(page)).toEqual([]);
  expect(await chartsWithoutTwin(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await page.locator('.panel').waitFor({ state: 'detached' });
  const { pathname, searchParams } = new URL(page.url());
  expect([pathname, searchParams.get('status')]).toEqual(['/console/requests', 'completed']);
  expect(faults).toEqual([]);
});

deeply('its rules lead to the line of the policy that decided it', async () => {
  const { page } = await openConsole(stage, { path: `/requests/${decision}` });
  await story(page)
    .getByRole('link', { name: /^policy\.yaml:\d+$/ })
    .first()
    .click();
  await page.locator('main').getByText('no-mirror-for-long').first().waitFor();
});

test('a request shows the candidates, attempts and money of the admin API, and the money adds up', async () => {
  const { page } = await openConsole(stage, { path: `/requests/${decision}` });
  const candidates = page.getByRole('table', { name: 'Candidates', exact: true });
  await candidates.getByText('left out by').waitFor();
  expect(await candidates.locator('tbody tr').count()).toBe(3);
  expect(await page.getByRole('table', { name: 'Attempts' }).locator('tbody tr').count()).toBe(1);
  const table = page.getByRole('table', { name: 'Money' });
  await table.waitFor();
  const rows: readonly MoneyRow[] = await table.locator('tbody tr').evaluateAll((all) =>
    all.map((row) => {
      const figure = row.querySelector('td:last-child .figure');
      const text = figure?.getAttribute('title') ?? figure?.textContent ?? '';
      return {
        what: row.querySelector('th')?.firstChild?.textContent ?? '',
        credits: Number(text.replaceAll(',', '')),
      };
    }),
  );
  const of = (what: string) => rows.find((row) => row.what === what)?.credits ?? Number.NaN;
  expect(of('Input') + of('Output')).toBeCloseTo(of('Charged'), 5);
  expect(of('Charged') + of('Released')).toBeCloseTo(of('Held'), 5);
  expect(of('The same tokens on the baseline model') - of('Charged')).toBeCloseTo(of('Saved'), 5);
  const { sums }: { sums: { charged: { credits: number } } } = JSON.parse(
    await (await stage.box.get(`/admin/decisions/${decision}/money`)).text(),
  );
  expect(of('Charged')).toBe(sums.charged.credits);
});

deeply('filters stand in the address, narrow the list, and are cleared at once', async () => {
  const { page } = await openConsole(stage, { path: '/requests' });
  const all = await rowsOf(page).count();
  await page.getByLabel('Model', { exact: true }).selectOption('claude-mirror-4');
  await page.waitForURL('**model=claude-mirror-4*');
  await waitFor(async () => (await rowsOf(page).count()) < all);
  for (const text of await rowsOf(page).locator('.requests-model').allTextContents())
    expect(text).toContain('claude-mirror-4');
  await page.reload();
  await settled(page);
  expect(await page.getByLabel('Model', { exact: true }).inputValue()).toBe('claude-mirror-4');
  await page.getByLabel('Label').fill('nonsense');
  await page.getByText('must have the form name=value').waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await waitFor(async () => (await rowsOf(page).count()) === all);
  expect(new URL(page.url()).searchParams.get('model')).toBeNull();
  await page.goto(`${stage.box.url}/console/requests?session=none-such`);
  await page.getByText('No request matches').waitFor();
});

test('the page counts new requests, and shows them only on request', async () => {
  const { page } = await openConsole(stage);
  await page.clock.install();
  await page.goto(`${stage.box.url}/console/requests`);
  await settled(page);
  const before = await rowsOf(page).count();
  for (let at = 0; at < 2; at++)
    await ask({ model: 'mistral-breeze', messages: [{ role: 'user', content: 'Hello.' }] });
  await page.clock.runFor(11_000);
  const button = page.getByRole('button', { name: 'Show 2 new requests' });
  await button.waitFor();
  expect(await rowsOf(page).count()).toBe(before);
  await button.click();
  await button.waitFor({ state: 'detached' });
  await waitFor(async () => (await rowsOf(page).count()) === before + 2);
});

deeply('its words are shown as text when they are asked for, and today’s decision by its own address', async () => {
  const { page, faults } = await openConsole(stage, { path: `/requests/${decision}?again=1` });
  await page.getByText('Today it would go to').waitFor();
  await page.getByRole('button', { name: 'Read the text' }).click();
  const prompt = page.getByRole('region', { name: 'Prompt, 1, user' });
  await prompt.waitFor();
  expect(await prompt.textContent()).toContain('<b>bold</b>');
  expect(await prompt.locator('b').count()).toBe(0);
  expect(await axeFinds(page)).toEqual([]);
  await page.getByRole('link', { name: 'Hide' }).click();
  await page.getByRole('link', { name: 'Decide again with the active policy' }).waitFor();
  expect(faults).toEqual([]);
});

deeply('on a phone the request is a page, and nothing is wider than it', async () => {
  const { page } = await openConsole(stage, { path: `/requests/${decision}`, width: 390, theme: 'dark' });
  await story(page).waitFor();
  await page.getByRole('table', { name: 'Money' }).waitFor();
  expect(await overflowOf(page)).toBe(0);
  expect(await page.locator('.panel').evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
  expect(await axeFinds(page)).toEqual([]);
});

deeply('people see what their role may: an auditor no words, a member no request of others', async () => {
  const auditor = await openConsole(stage, { path: `/requests/${decision}`, role: 'auditor' });
  await story(auditor.page).waitFor();
  expect(await auditor.page.getByRole('heading', { name: 'Content' }).count()).toBe(0);
  expect(await auditor.page.getByRole('link', { name: 'Decide again with the active policy' }).count()).toBe(1);
  expect(auditor.faults).toEqual([]);
  const member = await openConsole(stage, { path: '/requests', role: 'member' });
  await member.page.getByText('No requests in this period').waitFor();
  await member.page.goto(`${stage.box.url}/console/requests/${decision}`);
  await member.page.getByText('This request was not found').waitFor();
});

test('on a phone, each request in the list shows its status and key, and nothing overlaps', async () => {
  const { page, faults } = await openConsole(stage, { path: '/requests', width: 390 });
  const rows = page.getByRole('table', { name: 'Requests' }).locator('tbody tr');
  const { data } = JSON.parse(await (await stage.box.get('/admin/decisions?limit=8')).text());
  for (const [at, { status, key_name }] of data.entries()) {
    const cells = rows.nth(at).locator('td').filter({ visible: true });
    const texts = (await cells.allInnerTexts()).map((text) => text.trim());
    expect(texts.map((text) => text.toLowerCase())).toContain(status);
    expect(texts).toContain(key_name);
    const boxes = await Promise.all((await cells.all()).map((cell) => cell.boundingBox()));
    for (const [place, one] of boxes.entries()) {
      const isFree = boxes.slice(place + 1).every((other) => one && other && !overlaps(one, other));
      expect([place, isFree]).toEqual([place, true]);
    }
  }
  expect(await overflowOf(page)).toBe(0);
  expect(faults).toEqual([]);
});

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const overlaps = (one: Box, other: Box): boolean =>
  one.x < other.x + other.width &&
  other.x < one.x + one.width &&
  one.y < other.y + other.height &&
  other.y < one.y + one.height;

test('each column of figures has one unit and one number of decimals', async () => {
  const { page } = await openConsole(stage, { path: '/requests' });
  const table = page.getByRole('table', { name: 'Requests' });
  const heads = await table.locator('th').allTextContents();
  for (const head of ['Tokens out', 'First token', 'Took', 'Charged']) {
    const cells = await table.locator(`tbody td:nth-child(${heads.indexOf(head) + 1})`).allTextContents();
    const formats = cells
      .filter((cell) => cell !== '–')
      .map((cell) =>
        cell
          .replace(/^< /, '')
          .replace(/[\d,]+/, '0')
          .replace(/\d+/g, (digits) => '0'.repeat(digits.length)),
      );
    expect([head, new Set(formats).size]).toEqual([head, 1]);
  }
});

test('a fallback that answered instead of a named model says so in the list and in its story, and the list filters by the reason', async () => {
  const body = { model: 'claude-mirror-4', messages: [{ role: 'user', content: 'Hello!' }], max_tokens: 40 };
  const id = await ask({ ...body, fallbacks: ['mistral-breeze'], constraints: { max_cost_credits: 30 } });
  const { page, faults } = await openConsole(stage, { path: '/requests' });
  await page.getByRole('combobox', { name: 'Named model' }).selectOption('max_cost');
  await waitFor(async () => (await rowsOf(page).count()) === 1);
  expect(await rowsOf(page).first().textContent()).toContain('mistral-breeze instead of claude-mirror-4');
  await rowsOf(page).first().click();
  await story(page).waitFor();
  expect(new URL(page.url()).pathname).toBe(`/console/requests/${id}`);
  const words = (await story(page).textContent()) ?? '';
  expect(words).toStartWith(
    'It went to mistral-breeze. mistral-breeze is a fallback of claude-mirror-4, which was left out (its expected cost',
  );
  expect(await axeFinds(page)).toEqual([]);
  await page.goBack();
  await page.getByRole('textbox', { name: 'Instead of' }).fill('gpt-6-luna');
  await page.getByText('No request matches').waitFor();
  expect(faults).toEqual([]);
});

test('the page of a request for a named model says once why the model was chosen', async () => {
  const named = await ask({ model: 'gpt-6-luna', messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 20 });
  const { page } = await openConsole(stage, { path: `/requests/${named}` });
  await page.getByRole('table', { name: 'Candidates', exact: true }).waitFor();
  expect(await page.getByText('gpt-6-luna was requested by name').count()).toBe(1);
});
