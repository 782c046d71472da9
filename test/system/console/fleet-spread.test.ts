import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { axeFinds, type ConsoleStage, cellsThatOverlap, openConsole, openStage, overflowOf, settled } from './stage.ts';

/** The view Fleet for a model whose requests are spread over endpoints with limits, at a provider with several keys. */
let stage: ConsoleStage;
let east: FakeUpstream;
let west: FakeUpstream;

const policyOf = (): string => `version: 1
providers:
  east: { adapter: openai-compatible, base_url: "${east.url}", api_keys_env: [EAST_API_KEY, EAST_API_KEY_2] }
  west: { adapter: openai-compatible, base_url: "${west.url}", api_key_env: WEST_API_KEY }
models:
  our-model:
    spread: weighted
    endpoints:
      - { provider: east, upstream: our-model, weight: 70, limits: { requests_per_minute: 600, concurrent_requests: 20 } }
      - { provider: west, upstream: our-model, weight: 30, limits: { tokens_per_minute: 40000 } }
    price: { input: 1, cached_input: 0.1, output: 4, as_of: 2026-11-28, basis: own }
    context_window: 128000
    max_output: 8192
    quality: { default: 0.7, basis: guessed }
`;

beforeAll(async () => {
  east = startFakeUpstream();
  west = startFakeUpstream();
  const env = { EAST_API_KEY: 'east-key-one', EAST_API_KEY_2: 'east-key-two', WEST_API_KEY: 'west-key' };
  const usage = { prompt_tokens: 1_000, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 750 } };
  west.behave({ usage });
  east.behave(({ headers }) =>
    headers.get('authorization')?.endsWith('two') ? { status: 429, headers: { 'retry-after': '900' } } : { usage },
  );
  stage = await openStage(0, policyOf(), {}, Date.now, env);
  for (let at = 0; at < 40; at++) {
    const messages = [{ role: 'user', content: `Question ${at}` }];
    const body = { model: 'our-model', messages, max_tokens: 40, stream: at % 2 === 0 };
    await (await stage.box.post('/v1/chat/completions', body)).text();
  }
});
afterAll(() => Promise.all([stage.stop(), east.stop(), west.stop()]));

test('Fleet shows the share, the used limits, the pause and the cached share of each endpoint and key', async () => {
  const { page, faults } = await openConsole(stage, { path: '/fleet' });
  const rows = page.getByRole('table', { name: 'Endpoints of provider east' }).locator('tbody tr');
  const paused = rows.filter({ hasText: 'EAST_API_KEY_2' });
  const serving = rows.filter({ hasNotText: 'EAST_API_KEY_2' });
  await paused.getByText('Cooling after a 429').waitFor();
  await paused.getByText(/in 1\d min/).waitFor();
  await serving.getByText(/^75(\.0)? %$/).waitFor();
  for (const width of [1_024, 1_280, 1_600]) {
    await page.setViewportSize({ width, height: 900 });
    expect(await cellsThatOverlap(page.locator('.fleet-group table'))).toEqual([]);
  }
  await serving.getByRole('link').click();
  await settled(page);
  const panel = page.getByRole('complementary');
  await panel.getByText('75 % of the input tokens in the last 15 minutes').waitFor();
  await panel.getByText('Requests at the same time').waitFor();
  expect(await axeFinds(page)).toEqual([]);
  expect(faults).toEqual([]);
});

test('the shares of the endpoints of a model add up to all its attempts', async () => {
  const { page } = await openConsole(stage, { path: '/fleet?group=model' });
  const rows = page.getByRole('table', { name: 'Endpoints of model our-model' }).locator('tbody tr');
  const shares = await rows.locator('.fleet-lane .figure').allTextContents();
  expect(shares).toHaveLength(3);
  expect(shares.reduce((sum, share) => sum + Number.parseFloat(share), 0)).toBeCloseTo(100, 0);
});

test.each(['light', 'dark'] as const)('on a phone, the cards have the same facts, in the theme %s', async (theme) => {
  const { page, faults } = await openConsole(stage, { path: '/fleet', width: 390, theme });
  const card = page.getByRole('table', { name: 'Endpoints of provider west' }).locator('tbody tr');
  for (const fact of ['Share of attempts:', 'Limits used:', 'From cache:', 'First token, median:'])
    expect(await card.locator(`td[data-head="${fact}"]`).isVisible()).toBe(true);
  expect(await overflowOf(page)).toBe(0);
  expect(await axeFinds(page)).toEqual([]);
  expect(faults).toEqual([]);
});
