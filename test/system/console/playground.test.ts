import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { deeply, orDeeply } from '../../deep/deeply.ts';
import { waitFor } from '../../support/answers.ts';
import { startFakeUpstream } from '../../support/fake-upstream.ts';
import { startMeteredService } from '../../support/metered-service.ts';
import { UPSTREAM_ENV } from '../../support/policies.ts';
import { axeFinds, CONSOLE_POLICY, type ConsoleStage, openConsole, openStage, overflowOf, settled } from './stage.ts';

/** Tests of the playground, operated as a person would. */
let stage: ConsoleStage;

const model = (quality: number, perSecond: number) => `
    provider: south
    price: { input: 1000, output: 4000, as_of: 2026-11-01, basis: own }
    context_window: 32768
    max_output: 2048
    latency: { ttft_ms: 20, output_tokens_per_second: ${perSecond}, basis: guessed }
    quality: { default: ${quality}, basis: guessed }`;

/** A service whose answers can be paused as they grow. */
const metered = startMeteredService('stops', () => ({ tokens: 1_600, atOnce: 40, reports: 'each' }));

/** A service whose answers break off. */
const faulty = startFakeUpstream({ behaviour: { text: ['One ', 'two ', 'three'], endAfter: 3 } });

const POLICY = CONSOLE_POLICY.replaceAll('max_output: 256', 'max_output: 2048')
  .replace(
    'baseline:',
    `  slow-owl:${model(0.2, 12)}
  noisy-jay:${model(0.7, 20_000)}
    fallbacks: [many-larks]
  many-larks:${model(0.4, 20_000)}
    capabilities: [choices]
  embed-wren:
    provider: south
    price: { input: 20, output: 0, as_of: 2026-11-01, basis: own }
    context_window: 8192
    operations: [embed]
    embedding: { dimensions: 64 }
  falling-wren:
    provider: faulty
    price: { input: 1000, output: 4000, as_of: 2026-11-01, basis: own }
    context_window: 8192
    max_output: 256
    quality: { default: 0.1, basis: guessed }
  stopping-kite:
    provider: metered
    price: { input: 250, output: 1000, as_of: 2026-11-01, basis: own }
    context_window: 8192
    max_output: 4096
    default_max_output: 4096
    capabilities: []
    latency: { ttft_ms: 20, output_tokens_per_second: 500, basis: guessed }
    quality: { default: 0.2, basis: guessed }
constraints:
  - { name: calm-only, when: 'true', require: 'model.id != "noisy-jay"' }
baseline:`,
  )
  .replace(
    'south: {',
    `faulty: { adapter: openai-compatible, base_url: "${faulty.url}" }, metered: { adapter: openai-compatible, base_url: "${metered.url}", api_key_env: TEST_UPSTREAM_KEY, after_abort: { bills: stops, reports: each, margin_tokens: 20, margin_ms: 20 } }, south: {`,
  );

beforeAll(async () => {
  stage = await openStage(0, POLICY, {}, Date.now, UPSTREAM_ENV);
});
afterAll(() => Promise.all([stage.stop(), metered.stop(), faulty.stop()]));

const at = (query = '') => ({ path: `/playground${query}` });
const promptIn = (page: Page) => page.getByLabel('Prompt, or a complete request body');
const send = (page: Page) => page.getByRole('button', { name: 'Send request' }).click();
const heading = (page: Page, text: string) => page.locator('.chart h2', { hasText: text }).waitFor();
const done = (page: Page, word = 'Done') => page.locator('.playground-answer .tag', { hasText: word }).waitFor();
const fact = (page: Page, name: string) =>
  page
    .locator('.playground-answer .facts dt', { hasText: new RegExp(`^${name}$`) })
    .locator('xpath=following-sibling::dd[1]');

interface Listed {
  readonly data: readonly { readonly id: string; readonly status: string; readonly model: string }[];
}
const decisions = async (): Promise<Listed['data']> => {
  const listed: Listed = JSON.parse(await (await stage.box.get('/admin/decisions?limit=100')).text());
  return listed.data;
};

test('the playground shows the decision at once and updates it with weights and ceilings, without sending or recording anything', async () => {
  const { page, faults } = await openConsole(stage, at());
  await heading(page, 'would answer');
  await page
    .locator('.playground-decision')
    .getByText(/expected quality \d+ %, \$[\d.]+, /)
    .first()
    .waitFor();
  await promptIn(page).fill('Prove that the square root of two is irrational.');
  await page.getByText('The active policy would decide this now').waitFor();
  await page.getByRole('slider', { name: 'Quality', exact: true }).fill('100');
  await heading(page, 'claude-mirror-4 would answer');
  await page.getByRole('slider', { name: 'Cost', exact: true }).fill('100');
  await heading(page, 'mistral-breeze would answer');
  const rows = page.getByRole('table', { name: 'Candidates' }).locator('tbody tr');
  expect(await rows.filter({ hasText: 'noisy-jay' }).textContent()).toMatch(/calm-only policy\.yaml:\d+$/);
  await page.getByLabel('Cost in USD').fill('$5');
  await page.getByText('= 5,000 Credits').waitFor();
  await page.locator('pre', { hasText: '"max_cost_credits": 5000' }).first().waitFor();
  await page.getByLabel('Cost in USD').fill('0.0001 Credits');
  await heading(page, 'change max_cost_credits');
  expect(await rows.filter({ hasText: 'claude-mirror-4' }).textContent()).toContain('cost');
  expect(await decisions()).toEqual([]);
  expect(faults).toEqual([]);
});

test('if a fallback would answer, the decision says so and why before anything is sent', async () => {
  const { page } = await openConsole(stage, at('?model=noisy-jay'));
  await heading(page, 'many-larks would answer instead of noisy-jay');
  await page.getByText('is a fallback of noisy-jay, which was left out (').first().waitFor();
});

deeply('the address brings back the selector, weights, ceilings and dialect, and never has the prompt', async () => {
  const { page } = await openConsole(stage, at('?model=auto-fast&weights=20-30-50&max_seconds=9&dialect=responses'));
  await promptIn(page).fill('A secret plan');
  await page.getByRole('slider', { name: 'Speed' }).press('ArrowRight');
  await page.getByLabel('Spend in USD').fill('0.07');
  await waitFor(() => new URL(page.url()).searchParams.get('budget_credits') === '0.07 USD');
  const { searchParams } = new URL(page.url());
  expect(Object.fromEntries(searchParams)).toMatchObject({ model: 'auto-fast', weights: '20-29-51', max_seconds: '9' });
  expect(page.url()).not.toContain('plan');
  await page.reload();
  await settled(page);
  expect(await page.getByLabel('Dialect').inputValue()).toBe('responses');
  expect(await page.getByRole('slider', { name: 'Speed' }).inputValue()).toBe('51');
  expect(await page.getByLabel('Spend in USD').inputValue()).toBe('0.07 USD');
  expect(await promptIn(page).inputValue()).toBe('');
  await page.getByRole('button', { name: 'Use the selector’s weights' }).click();
  await waitFor(() => !page.url().includes('weights'));
});

deeply('asks at most ten times a second while a dial moves, and the last place wins', async () => {
  const { page } = await openConsole(stage, at());
  await heading(page, 'would answer');
  const asked: number[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/admin/policy/explain')) asked.push(performance.now());
  });
  const slider = page.getByRole('slider', { name: 'Quality', exact: true });
  for (let step = 0; step <= 60; step++) await slider.fill(String(40 + step));
  await heading(page, 'claude-mirror-4 would answer');
  page.removeAllListeners('request');
  expect(asked.length).toBeGreaterThan(1);
  const seconds = (asked.at(-1)! - asked[0]!) / 1_000;
  expect(asked.length).toBeLessThanOrEqual(Math.ceil(seconds * 10) + 1);
});

test('the playground recognizes the dialect of a pasted body, copies its settings, and marks the field of an error', async () => {
  const { page } = await openConsole(stage, at());
  const body = {
    model: 'auto-cheap',
    system: 'Be brief.',
    max_tokens: 30,
    route_strategy: { cost_weight: 1, quality_weight: 3 },
    messages: [{ role: 'user', content: 'Hello' }],
  };
  await promptIn(page).fill(JSON.stringify(body, null, 2));
  expect(await page.getByLabel('Dialect').inputValue()).toBe('messages');
  expect(await page.getByLabel('Selector or model').inputValue()).toBe('auto-cheap');
  expect(await page.getByRole('slider', { name: 'Quality', exact: true }).inputValue()).toBe('75');
  await heading(page, 'would answer');
  await promptIn(page).fill(JSON.stringify({ ...body, max_tokens: -1 }, null, 2));
  await page.locator('.field-error', { hasText: /max_tokens \(line 4\)/ }).waitFor();
  expect(await promptIn(page).getAttribute('aria-invalid')).toBe('true');
  await page.getByText('This decision is for an earlier request').waitFor();
  await promptIn(page).fill('{ "model": ');
  await page.getByText('This is not valid JSON yet').waitFor();
  await page.getByLabel('Cost in USD').fill('much');
  await promptIn(page).fill('Hello');
  await waitFor(async () => (await page.getByLabel('Cost in USD').getAttribute('aria-invalid')) === 'true');
});

test('the playground streams the answer as text, never markup, with hold, receipt and times, and links to its decision', async () => {
  const { page, faults } = await openConsole(stage, at('?model=gpt-6-luna'));
  const text = '<img src=x onerror="document.title=1"> <b>bold</b> & more';
  await promptIn(page).fill(text);
  await page.getByText('The active policy would decide this now').waitFor();
  await send(page);
  await done(page);
  const shown = page.locator('.playground-text');
  expect(await shown.textContent()).toContain(text);
  expect(await shown.locator('img, b').count()).toBe(0);
  await page.locator('.playground-answer h2', { hasText: 'gpt-6-luna answered' }).waitFor();
  expect(await page.locator('.hero', { hasText: 'First token' }).textContent()).toMatch(
    /\d ms.*measured in this page/s,
  );
  await fact(page, 'Attempts').waitFor();
  expect(await page.locator('.hero', { hasText: 'Tokens a second' }).textContent()).toMatch(
    /\d.*measured in this page/s,
  );
  await fact(page, 'Released').waitFor();
  expect(await fact(page, 'Held first').textContent()).toMatch(/\$[\d.]+ \([\d.,]+ Credits\)/);
  const id = (await fact(page, 'Decision').textContent())!;
  const record = JSON.parse(await (await stage.box.get(`/admin/decisions/${id}`)).text());
  expect(await page.locator('.hero', { hasText: 'Charged' }).locator('.hero-value').getAttribute('title')).toContain(
    `${record.outcome.credits_consumed.toPrecision(3).replace(/\.?0+$/, '')} Credits`,
  );
  expect(await axeFinds(page)).toEqual([]);
  expect(faults).toEqual([]);
});

const FORMS = orDeeply(
  [
    ['messages', 'yes'],
    ['responses', 'no'],
  ],
  [
    ['responses', 'yes'],
    ['messages', 'no'],
    ['chat', 'no'],
  ],
);
test.each(FORMS)('the playground reads an answer of the dialect %s, streamed: %s', async (dialect, stream) => {
  const { page } = await openConsole(stage, at(`?dialect=${dialect}&stream=${stream}&model=mistral-breeze`));
  await promptIn(page).fill(`In ${dialect}, please`);
  await send(page);
  await done(page);
  expect(await page.locator('.playground-text').textContent()).toContain(`In ${dialect}, please`);
  await page.locator('.playground-answer h2', { hasText: 'mistral-breeze answered' }).waitFor();
  await fact(page, 'Charged').waitFor();
});

deeply('decides and sends embeddings, and counts their vectors', async () => {
  const { page, faults } = await openConsole(stage, at('?model=embed-wren'));
  await promptIn(page).fill(JSON.stringify({ model: 'embed-wren', input: ['How signals', 'were worked'] }));
  expect(await page.getByLabel('Dialect').inputValue()).toBe('embeddings');
  await heading(page, 'embed-wren would answer');
  await send(page);
  await done(page);
  expect(await page.locator('.playground-text').textContent()).toMatch(/^Vector 1: 64 numbers.*\nVector 2: 64 numbers/);
  expect(await page.getByLabel('Stream').isDisabled()).toBe(true);
  expect(faults).toEqual([]);
});

test.each(['yes', 'no'])('the playground shows all choices of an answer, streamed: %s', async (stream) => {
  const { page, faults } = await openConsole(stage, at(`?stream=${stream}`));
  const body = { model: 'many-larks', n: 3, stream: stream === 'yes', messages: [{ role: 'user', content: 'Hi' }] };
  await promptIn(page).fill(JSON.stringify(body));
  await send(page);
  await done(page);
  const said = await page.locator('.playground-text').allTextContents();
  expect(said.map((text) => /\(choice \d of \d\)/.exec(text)?.[0])).toEqual(
    [1, 2, 3].map((at) => `(choice ${at} of 3)`),
  );
  expect(await page.locator('.playground-answer h3').allTextContents()).toEqual(['Choice 1', 'Choice 2', 'Choice 3']);
  expect(faults).toEqual([]);
});

deeply('shows the tranches of a hold that grows with the answer', async () => {
  const { page } = await openConsole(stage, at('?model=stopping-kite'));
  await promptIn(page).fill('Wherefore?');
  await send(page);
  await done(page);
  await fact(page, 'Released').waitFor();
  const id = (await fact(page, 'Decision').textContent())!;
  const { entries, sums } = JSON.parse(await (await stage.box.get(`/admin/decisions/${id}/money`)).text());
  const raises = entries.filter(({ kind }: { kind: string }) => kind === 'raise');
  expect(raises.length).toBeGreaterThan(1);
  const raised = sums.held.credits - entries[0].credits;
  const shown = (await fact(page, 'Tranches').textContent())!;
  expect(shown).toMatch(/^\d+ more, so that \$[\d.]+ \([\d,]+ Credits\) were held in total$/);
  expect(shown).toStartWith(`${raises.length} more, `);
  expect(shown).toContain(`(${Math.round(sums.held.credits).toLocaleString('en')} Credits)`);
  const [held, charged, released] = await Promise.all(
    ['Held first', 'Charged', 'Released'].map(async (name) =>
      Number(/\(([\d,]+) Credits\)/.exec((await fact(page, name).textContent())!)![1]!.replace(',', '')),
    ),
  );
  expect(Math.abs(held! + raised - charged! - released!)).toBeLessThanOrEqual(2);
});

deeply('"Stop" ends the request at the provider, and what was written stays', async () => {
  const { page } = await openConsole(stage, at('?model=slow-owl'));
  await promptIn(page).fill('Take your time');
  await send(page);
  await page.locator('.playground-text', { hasText: 'This is' }).waitFor();
  await page.locator('.playground-answer').getByRole('button', { name: 'Stop' }).click();
  await done(page, 'Stopped');
  await fact(page, 'Attempts').waitFor();
  const [last] = await decisions();
  expect([last!.model, last!.status]).toEqual(['slow-owl', 'abandoned']);
  expect(await page.locator('.playground-text').textContent()).toStartWith('This is');
});

test('the playground shows a gateway error with its code, and can send the next request', async () => {
  const { page } = await openConsole(stage, at('?budget_credits=0.00001&model=gpt-6-luna'));
  await promptIn(page).fill('Hello');
  await send(page);
  await done(page, 'Failed');
  await page.locator('.playground-answer .notice-bad', { hasText: 'budget_limit' }).waitFor();
  await page.getByLabel('Spend in USD').fill('');
  await send(page);
  await done(page);
});

test('a failed stream shows its text so far and the error, even if its connection breaks', async () => {
  const { page } = await openConsole(stage, at('?model=falling-wren'));
  await promptIn(page).fill('Count');
  await send(page);
  await done(page, 'Failed');
  await page.locator('.playground-answer .notice-bad', { hasText: 'broke off before its end' }).waitFor();
  expect(await page.locator('.playground-text').textContent()).toStartWith('One two');
});

test('the code example of a request has a variable in place of a secret', async () => {
  const { page } = await openConsole(stage, at());
  await promptIn(page).fill("It's a 'quoted' \\ prompt");
  const panel = page.getByRole('tabpanel');
  const curl = (await panel.textContent())!;
  expect(curl).toContain('$SIGNALBOX_KEY');
  expect(await page.content()).not.toContain(stage.box.key);
  // The server runs in this process, so waiting for the command must not block it.
  const run = Bun.spawn(['sh', '-c', curl], {
    env: { ...process.env, SIGNALBOX_KEY: stage.box.key },
    stderr: 'ignore',
    timeout: 10_000,
  });
  const out = await new Response(run.stdout).text();
  const said = [...out.matchAll(/"content":("(?:[^"\\]|\\.)*")/g)]
    .map(([, piece = '""']) => JSON.parse(piece))
    .join('');
  expect(said).toContain("It's a 'quoted' \\ prompt");
  expect(out).toEndWith('data: [DONE]\n\n');
  await page.getByRole('tab', { name: 'SDK' }).click();
  expect(await panel.textContent()).toContain('process.env.SIGNALBOX_KEY');
});

deeply(
  'auditors see decisions and who may send requests; a member without a key gets a link to create one, and sends with it',
  async () => {
    const auditor = (await openConsole(stage, { ...at(), role: 'auditor' })).page;
    await heading(auditor, 'would answer');
    await auditor.getByText('Owners, admins, team leads and members can send requests here').waitFor();
    expect(await auditor.getByRole('button', { name: 'Send request' }).count()).toBe(0);

    const { page, faults } = await openConsole(stage, { ...at(), role: 'member' });
    await heading(page, 'would answer');
    await page.getByRole('link', { name: 'Create a key' }).waitFor();
    const made = await page.evaluate(
      `fetch('/admin/keys', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"name":"mine","scopes":["chat"]}' }).then((answer) => answer.json())`,
    );
    await page.reload();
    await settled(page);
    await promptIn(page).fill('Hello from a member');
    await send(page);
    await done(page);
    expect(await page.getByLabel('Send with your key').locator('option').allTextContents()).toEqual([
      `mine (${(made as { id: string }).id})`,
    ]);
    expect(faults).toEqual([]);
  },
);

deeply('is whole in the dark and on a phone', async () => {
  const { page, faults } = await openConsole(stage, { ...at('?weights=60-20-20'), theme: 'dark', width: 390 });
  await promptIn(page).fill('Hello');
  await heading(page, 'would answer');
  await send(page);
  await done(page);
  await fact(page, 'Attempts').waitFor();
  expect(await overflowOf(page)).toBe(0);
  expect(await axeFinds(page)).toEqual([]);
  expect(faults).toEqual([]);
});
