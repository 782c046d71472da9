import { afterAll, beforeAll, expect, test } from 'bun:test';
import { axeFinds, CONSOLE_POLICY, type ConsoleStage, openConsole, openStage, overflowOf } from './stage.ts';

/** Tests of the part Guards of the view Requests, operated as a person would. */
let stage: ConsoleStage;
/** The ID of a flagged decision, and of a refused request. */
let [flagged, refused] = ['', ''];

const SECRET = 'project falcon';
const GUARDS = `
guards:
  - { name: no-passwords, guard: secrets, on_match: block }
  - { name: pii, guard: personal-data, settings: { kinds: [email] }, on: [input, output], on_match: mask }
  - { name: falcon, guard: words, settings: { deny: [${SECRET}] }, on_match: flag }
`;

beforeAll(async () => {
  stage = await openStage(10, CONSOLE_POLICY + GUARDS);
  const ask = async (content: string) => {
    const messages = [{ role: 'user', content }];
    const answer = await stage.box.post('/v1/chat/completions', { model: 'auto', messages, max_tokens: 20 });
    await answer.text();
    return answer.headers;
  };
  await ask('Write to quxley@example.com.');
  for (let at = 0; at < 3; at++) flagged = (await ask(`Tell me about ${SECRET}.`)).get('x-signalbox-decision-id') ?? '';
  refused = (await ask('password = Tr0ub4dor-and-3xtra')).get('x-request-id') ?? '';
});
afterAll(() => stage.stop());

test('guards are listed with their matches, and a guard shows its line in the policy and its dry run', async () => {
  const { page, faults } = await openConsole(stage, { path: '/requests' });
  await page.getByRole('link', { name: 'Guards', exact: true }).click();
  const table = page.getByRole('table', { name: 'Guards' });
  const cells = async (guard: string) =>
    (await table.locator('tbody tr').filter({ hasText: guard }).locator('td').allInnerTexts()).slice(1);
  await table.waitFor();
  const hidden = await table.locator('..').evaluate((around) => around.scrollWidth - around.clientWidth);
  expect(hidden).toBe(0);
  expect(await cells('no-passwords')).toEqual([
    'Works',
    'secrets',
    'requests',
    'Blocks',
    '15',
    '1',
    '1',
    '0',
    '0',
    '0',
  ]);
  expect(await cells('pii')).toEqual([
    'Works',
    'personal-data',
    'requests and answers',
    'Masks',
    '15',
    '1',
    '0',
    '1',
    '0',
    '0',
  ]);
  expect(await cells('falcon')).toEqual(['Works', 'words', 'requests', 'Only counts', '15', '3', '0', '0', '3', '0']);
  await page.getByText('falcon would have blocked 3 of 15 requests').waitFor();
  expect(await axeFinds(page)).toEqual([]);
  await table.getByRole('link', { name: 'falcon' }).click();
  const panel = page.locator('.panel');
  await panel.getByText('The guard falcon found 1 word in the request: only counted.').first().waitFor();
  expect(await panel.getByRole('link', { name: /^policy\.yaml:\d+$/ }).count()).toBe(1);
  expect(await panel.textContent()).not.toContain(SECRET);
  expect(await axeFinds(page)).toEqual([]);
  await panel.locator(`a[href*="${flagged}"]`).click();
  await page.locator('.requests-story').first().waitFor();
  expect(new URL(page.url()).pathname).toBe(`/console/requests/${flagged}`);
  await page.locator('.panel').getByText('The guard falcon found 1 word in the request: only counted.').waitFor();
  expect(faults).toEqual([]);
});

test('the list of requests has a filter by guard and finding, and a refused request says which guard refused it', async () => {
  const { page, faults } = await openConsole(stage, { path: '/requests' });
  const rows = page.getByRole('table', { name: 'Requests' }).locator('tbody tr:not(.table-space)');
  await page.getByLabel('Guard').fill('falcon');
  await page.waitForURL('**guard=falcon*');
  await rows.nth(3).waitFor({ state: 'detached' });
  expect(await rows.count()).toBe(3);
  await page.getByLabel('Finding').selectOption('block');
  await page.getByText('No request matches').waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await rows.nth(3).waitFor();
  await page.goto(`${stage.box.url}/console/requests/${refused}`);
  await page.locator('.panel').getByText('The guard no-passwords found').waitFor();
  expect(faults).toEqual([]);
});

test('on a phone, each guard shows its name, its action and its matches, and nothing is wider than the page', async () => {
  const { page } = await openConsole(stage, { path: '/requests/guards', width: 390, theme: 'dark' });
  const row = page.getByRole('table', { name: 'Guards' }).locator('tbody tr').filter({ hasText: 'pii' });
  await row.waitFor();
  const shown = (await row.locator('td').filter({ visible: true }).allInnerTexts()).map((text) => text.trim());
  expect(shown).toEqual(['pii', 'Works', 'Masks', '1']);
  // No fact of the card lies on another one.
  const boxes = await row
    .locator('td')
    .filter({ visible: true })
    .evaluateAll((cells) =>
      cells.map((cell) => {
        const { left, top } = cell.getBoundingClientRect();
        return `${left} ${top}`;
      }),
    );
  expect(new Set(boxes).size).toBe(shown.length);
  expect(await overflowOf(page)).toBe(0);
  expect(await axeFinds(page)).toEqual([]);
});

test('a member sees the guards with the counts of its own requests only', async () => {
  const { page } = await openConsole(stage, { path: '/requests/guards', role: 'member' });
  await page.getByText('No guard found anything in 0 requests.').waitFor();
  expect(await page.getByRole('table', { name: 'Guards' }).locator('tbody tr').count()).toBe(3);
});
