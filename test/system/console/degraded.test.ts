import { afterAll, beforeAll, expect, test } from 'bun:test';
import { UPSTREAM_ENV } from '../../support/policies.ts';
import { useUpstream } from '../../support/use.ts';
import { axeFinds, CONSOLE_POLICY, type ConsoleStage, openConsole, openStage } from './stage.ts';

/** Providers that fail some of their attempts while their circuit breakers stay closed. */
const south = useUpstream();
const east = useUpstream();

const provider = (name: string, url: string) =>
  `${name}: { adapter: openai-compatible, base_url: "${url}", api_key_env: TEST_UPSTREAM_KEY }`;
const POLICY = CONSOLE_POLICY.replace(
  'south: { adapter: simulated }',
  `${provider('south', south.url)}, ${provider('east', east.url)}`,
)
  .replace(
    'models:',
    `models:
  eastern:
    provider: east
    price: { input: 1, output: 4, as_of: 2026-11-01, basis: own }
    context_window: 32768
    max_output: 256
    quality: { default: 0.6, basis: guessed }`,
  )
  .replaceAll(/limit_credits: \d+/g, 'limit_credits: 1000000')
  .replace('gateway: {', 'gateway: { retries_max: 0,');

let stage: ConsoleStage;
beforeAll(async () => {
  stage = await openStage(0, POLICY, {}, Date.now, UPSTREAM_ENV);
});
afterAll(() => stage.stop());

async function send(model: string, count: number): Promise<void> {
  for (let at = 0; at < count; at++) {
    const body = { model, messages: [{ role: 'user', content: `Say ${at}.` }], max_tokens: 20 };
    await (await stage.box.post('/v1/chat/completions', body)).text();
  }
}

const failedAttempts = async (name: string): Promise<number> => {
  const { series } = JSON.parse(await (await stage.box.get('/admin/traffic?by=provider')).text());
  return series.find(({ value }: { value: string }) => value === name).whole.failed_attempts;
};

const degradedShown = async (path: string) => {
  const { page, faults } = await openConsole(stage, { path });
  await page.waitForLoadState('networkidle');
  expect(faults).toEqual([]);
  return { page, count: await page.getByText('Degraded', { exact: true }).count() };
};

test('a provider with fewer than 20 attempts is not shown as degraded', async () => {
  south.behave(({ asked }) => (JSON.stringify(asked).includes('Say 3.') ? { fail: 'server' } : {}));
  await send('claude-mirror-4', 12);
  expect(await failedAttempts('south')).toBe(1);
  expect((await degradedShown('/fleet?range=1h')).count).toBe(0);
});

test('requests that a provider refuses because of their content are not failed attempts', async () => {
  let at = 0;
  east.behave(() => (at++ % 3 === 0 ? { status: 400, error: { message: 'Bad request.' } } : {}));
  await send('eastern', 24);
  expect(await failedAttempts('east')).toBe(0);
});

test('Fleet and Overview show a provider as degraded if at least 10 % of at least 20 attempts failed', async () => {
  await send('claude-mirror-4', 12);
  await send('claude-mirror-4', 6);
  expect(await failedAttempts('south')).toBe(3);
  const fleet = await degradedShown('/fleet?range=1h');
  const group = fleet.page.getByRole('region', { name: 'provider south' });
  expect(await group.getByRole('heading').textContent()).toContain('3 of 30 attempts failed');
  // An endpoint of a degraded provider is neither shown nor counted as healthy.
  await group.getByRole('row', { name: /claude-mirror-4 Degraded/ }).waitFor();
  expect(await group.getByText('Healthy').count()).toBe(0);
  const healthy = fleet.page.locator('.hero', { hasText: 'Healthy endpoints' });
  expect(await healthy.locator('.hero-value').textContent()).toBe('3');
  await healthy.getByText('of 4', { exact: true }).waitFor();
  await group.getByRole('link', { name: 'claude-mirror-4' }).click();
  await fleet.page.getByRole('complementary').getByText('Degraded', { exact: true }).waitFor();
  await fleet.page.getByText('south is degraded: 3 of 30 attempts failed.').waitFor();
  expect(await axeFinds(fleet.page)).toEqual([]);
  // Grouped by model, the row of the provider shows that it is degraded.
  const byModel = await degradedShown('/fleet?range=1h&group=model');
  await byModel.page.getByRole('row', { name: /south Degraded/ }).waitFor();
  expect(byModel.count).toBe(1);
  const overview = await degradedShown('');
  await overview.page.getByRole('row', { name: /^south Degraded/ }).waitFor();
  expect(overview.count).toBe(1);
  await overview.page.getByRole('link', { name: 'Provider south is degraded: 3 of 30 attempts failed' }).waitFor();
});

test('the page shows an open breaker in place of the degraded state', async () => {
  south.behave({ fail: 'server' });
  await send('claude-mirror-4', 6);
  const { page } = await degradedShown('');
  await page.getByRole('row', { name: /^south Breaker open/ }).waitFor();
});
