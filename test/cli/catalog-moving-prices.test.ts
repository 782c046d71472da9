import { afterAll, expect, test } from 'bun:test';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runHere } from '../support/run-here.ts';
import { temporaryFolder, writePolicy } from '../support/signalbox.ts';

/** Tests `signalbox catalog update --from` with prices of hours, of service tiers, and prices that will change. */
const scratch = temporaryFolder();
const folders: string[] = [scratch];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function list(name: string, content: unknown, day: string): string {
  const path = join(scratch, name);
  writeFileSync(path, JSON.stringify(content));
  return `${path}=${day}`;
}

const chat = (provider: string, input: number, output: number, more: object = {}) => ({
  ...{
    litellm_provider: provider,
    mode: 'chat',
    input_cost_per_token: input / 1e6,
    output_cost_per_token: output / 1e6,
  },
  ...more,
});
const offPeak = {
  ...{ input_cost_per_token: 2e-7, output_cost_per_token: 4e-7 },
  windows: [
    { hours_utc: ['00:00-01:00', '04:00-06:00', '10:00-00:00'], weekdays: [1, 2, 3, 4, 5] },
    { hours_utc: '00:00-00:00', weekdays: [6, 7] },
  ],
};
const LITELLM = {
  'deepseek/nova-night': chat('deepseek', 0.4, 0.8, { off_peak_pricing: offPeak }),
  'nova-rising': chat('openai', 1, 2, { input_cost_per_token_flex: 5e-7, output_cost_per_token_flex: 1e-6 }),
  'nova-quick': chat('anthropic', 4, 20, { provider_specific_entry: { us: 1.1, fast: 2 } }),
};
const NEXT = { start_date: '2026-12-01' };
const GENAI = [
  {
    id: 'openai',
    models: [
      {
        id: 'nova-rising',
        prices: [
          { prices: { input_mtok: 1, output_mtok: 2 } },
          { constraint: NEXT, prices: { input_mtok: 2, output_mtok: 4 } },
        ],
        price_variants: [
          { when: { service_tier: 'flex' }, prices: { input_mtok: 1, output_mtok: 2 }, constraint: NEXT },
          { when: { service_tier: 'fast' }, prices: { input_mtok: 3, output_mtok: 6 } },
          { when: { service_tier: 'standard' }, prices: { input_mtok: 0.1, output_mtok: 0.1 } },
          { when: { service_tier: 'x: 1, y' }, prices: { input_mtok: 0.1, output_mtok: 0.1 } },
          { when: { processing: 'batch' }, prices: { input_mtok: 0.5, output_mtok: 1 } },
        ],
      },
    ],
  },
];
const FROM = ['--from', list('litellm.json', LITELLM, '2026-11-20'), '--from', list('genai.json', GENAI, '2026-11-10')];

const model = (provider: string, upstream: string, price: string) => `    provider: ${provider}
    upstream: ${upstream}
    price: ${price}
    context_window: 100000
    max_output: 4096
    quality: { default: 0.7, basis: guessed }
`;
const POLICY = `version: 1
credits: { usd_per_credit: 0.001 }
providers:
  openai: { preset: openai }
  anthropic: { preset: anthropic }
  deepseek: { preset: deepseek }
models:
  night:
${model('deepseek', 'nova-night', '{ input: 0.4, output: 0.8, as_of: 2026-09-01, basis: aggregator }')}  rising:
${model('openai', 'nova-rising', '\n      input: 1.00 # a remark\n      output: 2.00\n      as_of: 2026-09-01\n      basis: aggregator')}  quick:
${model('anthropic', 'nova-quick', '{ input: 4, output: 20, service_tiers: { slow: { input: 1, output: 5 } }, as_of: 2026-09-01, basis: aggregator }')}`;

const ENV = {
  OPENAI_API_KEY: 'a-key-of-a-test',
  ANTHROPIC_API_KEY: 'a-key-of-a-test',
  DEEPSEEK_API_KEY: 'a-key-of-a-test',
};
const NOVEMBER = Date.parse('2026-11-30T12:00:00Z');
const DECEMBER = Date.parse('2026-12-05T12:00:00Z');
let runs = 0;

/** Compares a policy with lists, and returns the figures that differ and the policy after the patch. */
async function updated(text: string, now: number, from: readonly string[] = FROM) {
  const folder = writePolicy({ 'policy.yaml': text });
  folders.push(folder);
  const out = join(scratch, `renewed-${++runs}`);
  const {
    code,
    out: body,
    err,
  } = await runHere(
    ['catalog', 'update', '--policies', folder, ...from, '--write', out, '--json'],
    ...([ENV, '', () => now] as const),
  );
  expect([code === 1, err]).toEqual([false, '']);
  const { models, diff } = JSON.parse(body);
  const changes: string[] = models.flatMap((one: { model: string; changes: { field: string; new: number }[] }) =>
    one.changes.map(({ field, new: usd }) => `${one.model} ${field.replace('price.', '')} ${usd}`),
  );
  if (diff !== '') {
    const { exitCode, stderr } = Bun.spawnSync(['git', 'apply', join(out, 'policy.diff')], { cwd: folder });
    expect([exitCode, stderr.toString()]).toEqual([0, '']);
  }
  return { changes, text: readFileSync(join(folder, 'policy.yaml'), 'utf8') };
}

test('the patch writes hours, service tiers and the next price, and a second comparison finds no change', async () => {
  const first = await updated(POLICY, NOVEMBER);
  expect(first.changes).toEqual([
    ...['night input 0.2', 'night output 0.4'],
    ...['01:00-04:00', '06:00-10:00'].flatMap((hours) =>
      ['input 0.4', 'output 0.8'].map((rate) => `night hours.mon,tue,wed,thu,fri.${hours}.${rate}`),
    ),
    ...['rising service_tiers.flex.input 0.5', 'rising service_tiers.flex.output 1'],
    ...['rising later.2026-12-01.input 2', 'rising later.2026-12-01.output 4'],
    ...['rising later.2026-12-01.service_tiers.flex.input 1', 'rising later.2026-12-01.service_tiers.flex.output 2'],
    ...['quick service_tiers.fast.input 8', 'quick service_tiers.fast.output 40'],
  ]);
  const days = 'days: [mon, tue, wed, thu, fri]';
  expect(first.text).toContain(
    `price: { input: 0.2, output: 0.4, hours: [{ from: "01:00", to: "04:00", ${days}, input: 0.4, output: 0.8 }, { from: "06:00", to: "10:00", ${days}, input: 0.4, output: 0.8 }], as_of: 2026-11-20, basis: aggregator }`,
  );
  expect(first.text).toContain(`      input: 1.00 # a remark
      output: 2.00
      service_tiers:
        flex: { input: 0.5, output: 1 }
      until: 2026-12-01
      later:
        - { input: 2, output: 4, service_tiers: { flex: { input: 1, output: 2 } } }
      as_of: 2026-11-20
`);
  expect(first.text).toContain('service_tiers: { slow: { input: 1, output: 5 }, fast: { input: 8, output: 40 } }');
  expect(await updated(first.text, NOVEMBER)).toEqual({ changes: [], text: first.text });
});

test('a price whose next price has begun has not changed, for lists from before and after', async () => {
  const { text } = await updated(POLICY, NOVEMBER);
  expect(await updated(text, DECEMBER)).toEqual({ changes: [], text });
  const after = { ...LITELLM, 'nova-rising': chat('openai', 2, 4) };
  const later = await updated(text, DECEMBER, ['--from', list('later.json', after, '2026-12-04')]);
  expect(later.changes).toEqual([]);
  // The price of `later` takes the place of the one that has ended, with its service tier, which the list does not state.
  expect(later.text).toContain(
    '\n      { input: 2, output: 4, service_tiers: { flex: { input: 1, output: 2 } }, as_of: 2026-12-04, basis: aggregator }\n',
  );
});

test('a renewed price keeps hours, service tiers and a next price that no list states', async () => {
  const { text } = await updated(POLICY, NOVEMBER);
  const plain = { 'deepseek/nova-night': chat('deepseek', 0.3, 0.4), 'nova-rising': chat('openai', 1.5, 2) };
  const renewed = await updated(text, NOVEMBER, ['--from', list('plain.json', plain, '2026-11-28')]);
  expect(renewed.changes).toEqual(['night input 0.3', 'rising input 1.5']);
  const expected = text
    .replace('{ input: 0.2,', '{ input: 0.3,')
    .replace('input: 1.00 #', 'input: 1.50 #')
    .replaceAll('as_of: 2026-11-20', 'as_of: 2026-11-28')
    .replace(/(slow.*)2026-11-28/, '$12026-11-20');
  expect(renewed.text).toBe(expected);
});

test('a new next price keeps the prices of tools and of audio, which no list states', async () => {
  const own = 'audio_input: 3, per_request: 0.001, tool_uses: { web_search: 0.01 }';
  const { text } = await updated(
    POLICY.replace('output: 2.00\n', `output: 2.00\n      ${own.replaceAll(/, (?=[pt])/g, '\n      ')}\n`),
    NOVEMBER,
  );
  expect(text).toContain(`- { ${own}, input: 2, output: 4, service_tiers:`);
});
