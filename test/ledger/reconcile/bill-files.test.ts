import { describe, expect, test } from 'bun:test';
import type {
  BetaAnalyticsCostBucketedResult,
  BetaAnalyticsUsageBucketedResult,
} from '@anthropic-ai/sdk/resources/beta/organization/analytics';
import fc from 'fast-check';
import type { UsageCompletionsResponse, UsageCostsResponse } from 'openai/resources/admin/organization/usage';
import { billIn } from '../../../src/ledger/reconcile/bill-files.ts';
import { type BilledLine, usdText } from '../../../src/ledger/reconcile/billed.ts';
import { linesOf, months } from './month.ts';

type Day = ReadonlyMap<string, readonly BilledLine[]>;
const byDay = (lines: readonly BilledLine[]): Day => Map.groupBy(lines, ({ day }) => day);
const byModel = (lines: readonly BilledLine[]): Day => Map.groupBy(lines, ({ model }) => model ?? '');
const secondsOf = (day: string): number => Date.parse(day) / 1_000;
const amountOf = (lines: readonly BilledLine[], unit: string): number =>
  lines.find((line) => line.unit === unit)?.amount ?? 0;
const DAY = 86_400;

/** OpenAI's answer of `organization/usage/completions`. */
function openAiUsage(lines: readonly BilledLine[]): string {
  const page: UsageCompletionsResponse = {
    object: 'page',
    has_more: false,
    next_page: null,
    data: [...byDay(lines)].map(([day, of]) => ({
      object: 'bucket',
      start_time: secondsOf(day),
      end_time: secondsOf(day) + DAY,
      results: [...byModel(of)].map(([model, units]) => {
        const [plain, cached, written, longer] = ['input', 'cached_input', 'cache_write', 'cache_write_12h'].map(
          (unit) => amountOf(units, unit),
        );
        return {
          object: 'organization.usage.completions.result',
          ...{ model, project_id: 'proj_gateway', service_tier: 'default', batch: false },
          input_tokens: plain! + cached! + written! + longer!,
          input_cached_tokens: cached!,
          input_cache_write_tokens: written! + longer!,
          input_cache_write_12h_tokens: longer!,
          output_tokens: amountOf(units, 'output'),
          num_model_requests: amountOf(units, 'requests'),
        };
      }),
    })),
  };
  return JSON.stringify(page);
}

const WORDS: Readonly<Record<string, string>> = {
  input: 'input',
  cached_input: 'cached input',
  cache_write: 'cache write',
  output: 'output',
  'tool_use/web_search': 'web search',
};

/** OpenAI's answer of `organization/costs`, grouped by line item. */
function openAiCosts(lines: readonly BilledLine[]): string {
  const page: UsageCostsResponse = {
    object: 'page',
    has_more: false,
    next_page: null,
    data: [...byDay(lines)].map(([day, of]) => ({
      object: 'bucket',
      start_time: secondsOf(day),
      end_time: secondsOf(day) + DAY,
      results: of
        .filter(({ usd }) => usd !== null)
        .map(({ model, unit, usd }) => ({
          object: 'organization.costs.result',
          amount: { value: Number(usdText(usd!)), currency: 'usd' },
          line_item: `${model}-2026-08-06, ${WORDS[unit]}`,
          project_id: 'proj_gateway',
        })),
    })),
  };
  return JSON.stringify([page]);
}

const NOTHING = {
  ...{ claude_tag_category: null, claude_tag_user_id: null, context_window: null, inference_geo: null, product: null },
  ...{ rbac_group_id: null, slack_channel_id: null, speed: null },
};

function anthropicUsage(lines: readonly BilledLine[]): string {
  const data = [...byDay(lines)].map(([day, of]) => ({
    starting_at: `${day}T00:00:00Z`,
    ending_at: `${day}T23:59:59Z`,
    results: [...byModel(of)].map(
      ([model, units]): BetaAnalyticsUsageBucketedResult => ({
        ...NOTHING,
        model,
        uncached_input_tokens: amountOf(units, 'input'),
        cache_read_input_tokens: amountOf(units, 'cached_input'),
        cache_creation: {
          ephemeral_5m_input_tokens: amountOf(units, 'cache_write'),
          ephemeral_1h_input_tokens: amountOf(units, 'cache_write_1h'),
        },
        output_tokens: amountOf(units, 'output'),
        server_tool_use: { web_search_requests: amountOf(units, 'tool_use/web_search') },
        requests: amountOf(units, 'requests'),
      }),
    ),
  }));
  return JSON.stringify({ data, has_more: false, next_page: null });
}

const TOKENS = {
  input: 'uncached_input_tokens',
  cached_input: 'cache_read_input_tokens',
  cache_write: 'cache_creation.ephemeral_5m_input_tokens',
  cache_write_1h: 'cache_creation.ephemeral_1h_input_tokens',
  output: 'output_tokens',
} as const;
const tokensOf = (unit: string) => (unit in TOKENS ? TOKENS[unit as keyof typeof TOKENS] : null);

function anthropicCosts(lines: readonly BilledLine[]): string {
  const data = [...byDay(lines)].map(([day, of]) => ({
    starting_at: `${day}T00:00:00Z`,
    ending_at: `${day}T23:59:59Z`,
    results: of
      .filter(({ usd }) => usd !== null)
      .map(({ model, unit, usd }): BetaAnalyticsCostBucketedResult => {
        const amount = usdText(usd! * 100n);
        const kind = tokensOf(unit) === null ? 'web_search' : 'tokens';
        return {
          ...{ ...NOTHING, model, amount, list_amount: amount, currency: 'USD' },
          ...{ cost_type: kind, token_type: tokensOf(unit), requests: null },
        };
      }),
  }));
  return JSON.stringify({ data, has_more: false, next_page: null });
}

const csv = (rows: readonly Readonly<Record<string, string | number>>[]): string => {
  const columns = Object.keys(rows[0]!);
  return [columns, ...rows.map((row) => columns.map((name) => row[name]))]
    .map((cells) => `${cells.join(',')}\r\n`)
    .join('');
};
const quoted = (text: string): string => `"${text}"`;

const openAiUsageCsv = (lines: readonly BilledLine[]): string =>
  csv(
    [...byDay(lines)].flatMap(([day, of]) =>
      [...byModel(of)].map(([model, units]) => ({
        ...{ start_time: secondsOf(day), start_time_iso: `${day}T00:00:00+00:00`, project_id: 'proj_gateway', model },
        ...{ batch: 'false', service_tier: 'default', num_model_requests: amountOf(units, 'requests') },
        input_tokens: ['input', 'cached_input', 'cache_write'].reduce((sum, unit) => sum + amountOf(units, unit), 0),
        ...{
          input_cached_tokens: amountOf(units, 'cached_input'),
          input_cache_write_tokens: amountOf(units, 'cache_write'),
        },
        output_tokens: amountOf(units, 'output'),
      })),
    ),
  );
const openAiCostsCsv = (lines: readonly BilledLine[]): string =>
  csv(
    lines
      .filter(({ usd }) => usd !== null)
      .map(({ day, model, unit, usd }) => ({
        ...{ start_time: secondsOf(day), start_time_iso: `${day}T00:00:00+00:00`, amount_value: usdText(usd!) },
        ...{ amount_currency: 'usd', line_item: quoted(`${model}, ${WORDS[unit]}`), project_id: 'proj_gateway' },
      })),
  );
const anthropicUsageCsv = (lines: readonly BilledLine[]): string =>
  csv(
    [...byDay(lines)].flatMap(([day, of]) =>
      [...byModel(of)].map(([model, units]) => ({
        ...{ usage_date_utc: day, model, workspace: 'proj_gateway', api_key: '', usage_type: 'standard' },
        usage_input_tokens_no_cache: amountOf(units, 'input'),
        usage_input_tokens_cache_write_5m: amountOf(units, 'cache_write'),
        usage_input_tokens_cache_write_1h: amountOf(units, 'cache_write_1h'),
        usage_input_tokens_cache_read: amountOf(units, 'cached_input'),
        ...{ usage_output_tokens: amountOf(units, 'output'), web_search_count: amountOf(units, 'tool_use/web_search') },
      })),
    ),
  );
const anthropicCostsCsv = (lines: readonly BilledLine[]): string =>
  csv(
    lines
      .filter(({ usd }) => usd !== null)
      .map(({ day, model, unit, usd }) => ({
        ...{ usage_date_utc: day, model: model ?? '', workspace: 'proj_gateway', token_type: tokensOf(unit) ?? '' },
        ...{ cost_type: tokensOf(unit) === null ? 'web_search' : 'tokens', cost_usd: usdText(usd!) },
      })),
  );

/** What a form can say: units with amounts, or costs. */
const AMOUNTS = {
  "OpenAI's usage": { write: openAiUsage, units: ['input', 'cached_input', 'cache_write', 'output', 'requests'] },
  "OpenAI's export of usage": {
    write: openAiUsageCsv,
    units: ['input', 'cached_input', 'cache_write', 'output', 'requests'],
  },
  "Anthropic's usage": { write: anthropicUsage, units: [...Object.keys(TOKENS), 'tool_use/web_search', 'requests'] },
  "Anthropic's export of usage": { write: anthropicUsageCsv, units: [...Object.keys(TOKENS), 'tool_use/web_search'] },
};
const COSTS = {
  "OpenAI's costs": { write: openAiCosts, units: Object.keys(WORDS) },
  "OpenAI's export of costs": { write: openAiCostsCsv, units: Object.keys(WORDS) },
  "Anthropic's costs": { write: anthropicCosts, units: [...Object.keys(TOKENS), 'tool_use/web_search'] },
  "Anthropic's export of costs": { write: anthropicCostsCsv, units: [...Object.keys(TOKENS), 'tool_use/web_search'] },
};

const figures = (lines: readonly BilledLine[], figure: (line: BilledLine) => number | bigint | null) =>
  lines.map((line) => `${line.day} ${line.model?.replace(/-2026-08-06$/, '')} ${line.unit} ${figure(line)}`).sort();
const runs = { numRuns: 5 };

describe('each form of a bill is read to the last token:', () => {
  for (const [name, { write, units }] of Object.entries(AMOUNTS)) {
    test(name, () =>
      fc.assert(
        fc.property(months, (requests) => {
          const lines = linesOf(requests).filter(({ unit }) => units.includes(unit));
          const read = billIn(write(lines), 'bill').lines;
          expect(figures(read, ({ amount }) => amount)).toEqual(figures(lines, ({ amount }) => amount));
        }),
        runs,
      ),
    );
  }
  for (const [name, { write, units }] of Object.entries(COSTS)) {
    test(name, () =>
      fc.assert(
        fc.property(months, (requests) => {
          const lines = linesOf(requests).filter(({ unit, usd }) => usd !== null && units.includes(unit));
          const read = billIn(write(lines), 'bill').lines;
          expect(figures(read, ({ usd }) => usd)).toEqual(figures(lines, ({ usd }) => usd));
        }),
        runs,
      ),
    );
  }
});

test('bought capacity of Anthropic has no tier, because the books have it at the base price', () => {
  const usage = { model: 'claude-opus-5-5', uncached_input_tokens: 5, output_tokens: 6 };
  const results = ['priority', 'standard', 'batch'].map((service_tier) => ({ ...usage, service_tier }));
  const { lines } = billIn(JSON.stringify({ data: [{ starting_at: '2026-11-01T00:00:00Z', results }] }), 'bill');
  expect(new Set(lines.map(({ tier }) => tier))).toEqual(new Set([null, 'batch']));
});

test.each([
  ['{"data": 1}', 'bill, page 1 has no known form.'],
  ['[]', 'bill has no page of a bill.'],
  ['a,b\n1,2\n', 'bill has no known form.'],
  ['start_time_iso,amount_value,amount_currency\n2026-11-01,12,eur\n', 'bill, row 2 is in eur.'],
  ['start_time_iso,amount_value,amount_currency\n2026-11-01,many,usd\n', 'bill, row 2: "many" is no amount.'],
  ['a,"b\n', 'bill is neither JSON nor CSV'],
])('a file that is no bill is refused with its reason: %j', (text, reason) => {
  expect(() => billIn(text, 'bill')).toThrow(reason);
});
