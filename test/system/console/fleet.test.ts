import { afterAll, beforeAll, expect, test } from 'bun:test';
import { deeply } from '../../deep/deeply.ts';
import { World } from '../../store/hostile/world.ts';
import { startOver } from '../../support/fleet.ts';
import { writePolicy } from '../../support/signalbox.ts';
import {
  axeFinds,
  CONSOLE_POLICY,
  type ConsoleStage,
  cellsThatOverlap,
  chartsWithoutTwin,
  openConsole,
  openStage,
  overflowOf,
  settled,
} from './stage.ts';

/** Tests of the view Fleet, operated as a person would. */
let stage: ConsoleStage;
beforeAll(async () => {
  stage = await openStage(24, CONSOLE_POLICY.replaceAll(/limit_credits: \d+/g, 'limit_credits: 1000000'));
});
afterAll(() => stage.stop());

interface Line {
  readonly value: string;
  readonly whole: { readonly requests: number; readonly ttft_ms: { readonly p50: number | null } };
}

const read = async (path: string) => JSON.parse(await (await stage.box.get(path)).text());

deeply('which provider is slow today is answered by a sentence, with the figure of the admin API', async () => {
  const { page, faults } = await openConsole(stage, { path: '/fleet?range=24h' });
  const { series } = await read('/admin/traffic?by=provider');
  // The page makes no statement about an endpoint with a handful of requests.
  const known = series.filter(({ whole }: Line) => whole.requests >= 5 && whole.ttft_ms.p50 !== null);
  const [slowest] = known.toSorted(
    (one: Line, other: Line) => (other.whole.ttft_ms.p50 ?? 0) - (one.whole.ttft_ms.p50 ?? 0),
  );
  const sentence = await page.locator('#endpoints').textContent();
  expect(sentence).toBe(
    `No provider is slower than before. ${slowest.value} takes longest, with ${slowest.whole.ttft_ms.p50} ms to the first token.`,
  );
  expect(await axeFinds(page)).toEqual([]);
  expect(faults).toEqual([]);
});

test('an endpoint opens next to the list with its readings, its settings in the policy, and its hours', async () => {
  const { page, faults } = await openConsole(stage, { path: '/fleet' });
  await page.getByRole('link', { name: 'gpt-6-luna' }).click();
  await settled(page);
  const panel = page.getByRole('complementary');
  await panel.getByRole('heading', { name: 'gpt-6-luna at north' }).waitFor();
  const { data } = await read('/admin/endpoints');
  const { ttft_ms, declared } = data.find(({ model }: { model: string }) => model === 'gpt-6-luna');
  expect(declared).toMatchObject({ ttft_ms: 4, tokens_per_second: 20_000, basis: 'stated' });
  const row = panel.getByRole('table', { name: 'Readings' }).locator('tbody tr').first();
  expect(await row.locator('td').allTextContents()).toEqual([
    `${Number(ttft_ms.p50.toPrecision(3))} ms`,
    `${Number(ttft_ms.p90.toPrecision(3))} ms`,
    '4 ms',
  ]);
  expect(await chartsWithoutTwin(page)).toEqual([]);
  expect(await axeFinds(page)).toEqual([]);
  await page.reload();
  await settled(page);
  await panel.waitFor();
  await page.keyboard.press('Escape');
  await panel.waitFor({ state: 'detached' });
  await page.getByLabel('Grouped by').selectOption({ label: 'By model' });
  expect(new URL(page.url()).searchParams.get('group')).toBe('model');
  await page.getByRole('table', { name: 'Endpoints of model gpt-6-luna' }).waitFor();
  expect(faults).toEqual([]);
});

test('Fleet shows the server, its policy and the last reload, and says how to set up alerts if there are none', async () => {
  const { page } = await openConsole(stage, { path: '/fleet', width: 390 });
  const { version, policy_revision } = await read('/admin/status');
  await page.getByText(version, { exact: true }).waitFor();
  await page.getByText(policy_revision, { exact: true }).first().waitFor();
  await page.getByText('No alert rule is set').waitFor();
  expect(await overflowOf(page)).toBe(0);
  expect(await axeFinds(page)).toEqual([]);
});

test('no cell of the endpoints runs into the next one, at any width of a screen', async () => {
  for (const width of [1_024, 1_280, 1_600, 1_920]) {
    const { page } = await openConsole(stage, { path: '/fleet?range=24h', width });
    expect(await cellsThatOverlap(page.locator('.fleet-group table'))).toEqual([]);
  }
});

deeply('of two servers at one database each has its policy, and why it refused another', async () => {
  const world = new World();
  const folders = [writePolicy(CONSOLE_POLICY), writePolicy(`${CONSOLE_POLICY}# other\n`)];
  const a = await startOver(world, 'a', { args: ['--policies', folders[0]!] });
  const b = await startOver(world, 'b', { args: ['--policies', folders[1]!], env: { SIGNALBOX_API_KEY: a.key } });
  await Bun.write(`${folders[1]}/more.yaml`, 'nonsense: 1\n');
  await b.post('/admin/policy/reload', {});
  const { page, faults } = await openConsole({ box: a }, { path: '/fleet', width: 390 });
  const servers = page.getByRole('region', { name: 'The servers use different policies.' });
  await servers.getByText(/refused another: .*more\.yaml:1:1/).waitFor();
  expect(await overflowOf(page)).toBe(0);
  expect(await axeFinds(page)).toEqual([]);
  await page.setViewportSize({ width: 1280, height: 800 });
  const cells = servers.getByRole('row').last().getByRole('cell');
  expect((await cells.allTextContents()).slice(3, 5)).toEqual(['its files', '1']);
  expect(await overflowOf(page)).toBeLessThanOrEqual(0);
  expect(faults).toEqual([]);
  await Promise.all([a.stop(), b.stop()]);
});
