import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { parse } from 'csv-parse/sync';
import { isObject, parseJson } from '../../core/json/object.ts';
import { parseDecimal, plainText, times } from '../../core/money/decimal.ts';
import { toolOf, toolUse } from '../../core/money/units.ts';
import { SchemaCheck } from '../../core/schema/check.ts';
import { UsageError } from '../../core/usage-error.ts';
import { type BilledLine, type Picodollars, picodollarsIn, REQUESTS } from './billed.ts';

/** The providers whose bills can be read, by the name that a policy usually gives them. */
export type BillingProvider = 'openai' | 'anthropic';

/** The lines of a bill, with the provider that wrote it. */
export interface Bill {
  readonly provider: BillingProvider;
  readonly lines: readonly BilledLine[];
}

/**
 * Reads a bill in one of the forms of `FORMS`.
 * @param name of the file, for errors
 * @throws UsageError for a text that is no bill, with the forms that are known
 */
export function billIn(text: string, name: string): Bill {
  const json = parseJson(text.replace(/^\uFEFF/, ''));
  const pages = json === undefined ? null : Array.isArray(json) ? json : [json];
  const bills =
    pages === null ? [csvBill(text, name)] : pages.map((page, at) => pageBill(page, `${name}, page ${at + 1}`));
  const [first] = bills;
  if (!first) throw new UsageError(`${name} has no page of a bill.`);
  const other = bills.find(({ provider }) => provider !== first.provider);
  if (other)
    throw new UsageError(`${name} has pages of ${first.provider} and of ${other.provider}. Name one file for each.`);
  return { provider: first.provider, lines: bills.flatMap(({ lines }) => lines) };
}

const optional = <Schema extends TSchema>(schema: Schema) => Type.Optional(Type.Union([schema, Type.Null()]));
const text = optional(Type.String());
const count = optional(Type.Number({ minimum: 0 }));

/** What the lines of one result have in common. */
interface Place {
  readonly day: string;
  readonly model: string | null;
  readonly tier: string | null;
  readonly account: string | null;
}

const amountLine = (place: Place, unit: string, amount: number): BilledLine => ({ ...place, unit, amount, usd: null });
const costLine = (place: Place, unit: string, usd: Picodollars, amount: number | null = null): BilledLine => ({
  ...place,
  unit,
  amount,
  usd,
});
const amounts = (place: Place, units: Readonly<Record<string, number | null | undefined>>): BilledLine[] =>
  Object.entries(units).flatMap(([unit, amount]) => (amount ? [amountLine(place, unit, amount)] : []));

/** The tiers that a provider bills at its usual prices. */
const USUAL_TIERS: ReadonlySet<string | null | undefined> = new Set([null, undefined, '', 'default', 'standard']);
const tierIn = (tier: string | null | undefined): string | null => (USUAL_TIERS.has(tier) ? null : (tier ?? null));

// OpenAI: answers of `GET /v1/organization/usage/{kind}` and `GET /v1/organization/costs`, and the exports of its dashboard.

const Grouped = { project_id: text, api_key_id: text };
const OpenAiTokens = Type.Object({
  object: Type.Union([
    Type.Literal('organization.usage.completions.result'),
    Type.Literal('organization.usage.embeddings.result'),
    Type.Literal('organization.usage.moderations.result'),
  ]),
  ...Grouped,
  model: text,
  service_tier: text,
  batch: optional(Type.Boolean()),
  num_model_requests: count,
  input_tokens: Type.Number({ minimum: 0 }),
  output_tokens: count,
  input_cached_tokens: count,
  input_cache_write_tokens: count,
  input_cache_write_12h_tokens: count,
});
const OpenAiSearches = Type.Object({
  object: Type.Literal('organization.usage.web_searches.result'),
  ...Grouped,
  model: text,
  num_requests: Type.Number({ minimum: 0 }),
});
const OpenAiCost = Type.Object({
  object: Type.Literal('organization.costs.result'),
  ...Grouped,
  amount: optional(Type.Object({ value: Type.Union([Type.Number(), Type.String()]), currency: Type.String() })),
  line_item: text,
  quantity: optional(Type.Number()),
  quantity_unit: text,
});
const OpenAiPage = Type.Object({
  object: Type.Literal('page'),
  data: Type.Array(
    Type.Object({
      start_time: Type.Integer(),
      results: Type.Array(Type.Object({ object: Type.String() }, { additionalProperties: true })),
    }),
  ),
});

const accountOf = ({
  api_key_id: key,
  project_id: project,
}: {
  readonly api_key_id?: string | null;
  readonly project_id?: string | null;
}) => key ?? project ?? null;

function openAiTokens(day: string, result: Static<typeof OpenAiTokens>): readonly BilledLine[] {
  const { model = null, service_tier: tier, batch } = result;
  const place = { day, model, tier: batch ? 'batch' : tierIn(tier), account: accountOf(result) };
  const cached = result.input_cached_tokens ?? 0;
  const written = result.input_cache_write_tokens ?? 0;
  const half = result.input_cache_write_12h_tokens ?? 0;
  return amounts(place, {
    input: result.input_tokens - cached - written,
    cached_input: cached,
    cache_write: written - half,
    cache_write_12h: half,
    output: result.output_tokens,
    [REQUESTS]: result.num_model_requests,
  });
}

/** The words that end a line item, after the name of the model: `gpt-6-luna-2026-08-06, cached input`. */
const ITEM_UNITS: Readonly<Record<string, string>> = {
  input: 'input',
  'cached input': 'cached_input',
  'cache write': 'cache_write',
  'cache writes': 'cache_write',
  'cache write 12h': 'cache_write_12h',
  output: 'output',
  'web search': toolUse('web_search'),
};
/** The tokens of one unit of a quantity. */
const QUANTITIES: Readonly<Record<string, number>> = { tokens: 1, '1000_tokens': 1_000 };
/** The unit of a line that states the cost of a whole model, or of a whole day. */
export const TOTAL = 'total';

function openAiCost(day: string, result: Static<typeof OpenAiCost>, where: string): readonly BilledLine[] {
  const { amount, line_item: item, quantity, quantity_unit: of } = result;
  if (!amount) return [];
  if (amount.currency.toLowerCase() !== 'usd')
    throw new UsageError(`${where} is in ${amount.currency}. Only USD can be compared.`);
  const usd = usdIn(String(amount.value), where);
  const [, model = null, word = null] = /^(.+), ([^,]+)$/.exec(item ?? '') ?? [];
  const unit = word === null ? undefined : ITEM_UNITS[word.toLowerCase()];
  const place = { day, tier: null, account: accountOf(result) };
  if (unit === undefined) return [costLine({ ...place, model: null }, item ?? TOTAL, usd)];
  const each = QUANTITIES[of ?? ''];
  const units = quantity == null || (each === undefined && toolOf(unit) === '') ? null : quantity * (each ?? 1);
  return [costLine({ ...place, model }, unit, usd, units)];
}

function usdIn(value: string, where: string): Picodollars {
  const usd = picodollarsIn(value);
  if (usd === null) throw new UsageError(`${where}: ${JSON.stringify(value)} is no amount.`);
  return usd;
}

const searches = (day: string, result: Static<typeof OpenAiSearches>): readonly BilledLine[] =>
  amounts(
    { day, model: result.model ?? null, tier: null, account: accountOf(result) },
    { [toolUse('web_search')]: result.num_requests },
  );

// Anthropic: buckets of the usage and cost reports, items of `/v1/organizations/analytics/usage` and `/cost`, and the exports of its console.

const AnthropicGroup = { model: text, service_tier: text, speed: text, api_key_id: text, workspace_id: text };
const AnthropicUsage = Type.Object({
  uncached_input_tokens: Type.Number({ minimum: 0 }),
  cache_read_input_tokens: count,
  output_tokens: count,
  cache_creation: optional(Type.Object({ ephemeral_5m_input_tokens: count, ephemeral_1h_input_tokens: count })),
  server_tool_use: optional(Type.Record(Type.String(), Type.Number({ minimum: 0 }))),
  requests: count,
});
const AnthropicCost = Type.Object({ amount: Type.String(), currency: Type.String() });
const AnthropicCostGroup = { ...AnthropicGroup, cost_type: text, token_type: text };
const Day = Type.Object({ starting_at: Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}' }) });
const AnthropicBucket = Type.Object({
  ...Day.properties,
  results: Type.Array(Type.Object({}, { additionalProperties: true })),
});
const AnthropicItem = Type.Object({
  ...Day.properties,
  group: Type.Object({}, { additionalProperties: true }),
  usage: Type.Optional(Type.Unknown()),
  cost: Type.Optional(Type.Unknown()),
});
const AnthropicPage = Type.Object({ data: Type.Array(Type.Union([AnthropicBucket, AnthropicItem])) });

const TOKEN_UNITS: Readonly<Record<string, string>> = {
  uncached_input_tokens: 'input',
  cache_read_input_tokens: 'cached_input',
  output_tokens: 'output',
  'cache_creation.ephemeral_5m_input_tokens': 'cache_write',
  'cache_creation.ephemeral_1h_input_tokens': 'cache_write_1h',
};

const UsageResult = Type.Composite([Type.Object(AnthropicGroup), AnthropicUsage]);
const CostResult = Type.Composite([Type.Object(AnthropicCostGroup), AnthropicCost]);

/** The tier of capacity that was bought in advance. The books have it at the base price. */
const BOUGHT = 'priority';

const anthropicPlace = (
  day: string,
  {
    model = null,
    service_tier: tier,
    speed,
    api_key_id: key,
    workspace_id: workspace,
  }: Static<ReturnType<typeof groupSchema>>,
): Place => ({
  day,
  model,
  tier: tierIn(tier === BOUGHT ? null : tier) ?? tierIn(speed),
  account: key ?? workspace ?? null,
});
const groupSchema = () => Type.Object(AnthropicGroup);

function anthropicUsage(day: string, result: Static<typeof UsageResult>): readonly BilledLine[] {
  const { cache_creation: created, server_tool_use: tools } = result;
  const uses = Object.entries(tools ?? {}).map(
    ([name, uses]) => [toolUse(name.replace(/_requests$/, '')), uses] as const,
  );
  return amounts(anthropicPlace(day, result), {
    input: result.uncached_input_tokens,
    cached_input: result.cache_read_input_tokens,
    cache_write: created?.ephemeral_5m_input_tokens,
    cache_write_1h: created?.ephemeral_1h_input_tokens,
    output: result.output_tokens,
    ...Object.fromEntries(uses),
    [REQUESTS]: result.requests,
  });
}

function anthropicCost(day: string, result: Static<typeof CostResult>, where: string): readonly BilledLine[] {
  const { amount, currency, cost_type: kind, token_type: tokens } = result;
  if (currency.toUpperCase() !== 'USD') throw new UsageError(`${where} is in ${currency}. Only USD can be compared.`);
  // The amount is in cents.
  const usd = usdIn(amount, where) / 100n;
  const unit =
    tokens == null
      ? kind === 'web_search'
        ? toolUse('web_search')
        : (kind ?? TOTAL)
      : (TOKEN_UNITS[tokens] ?? tokens);
  return [costLine(anthropicPlace(day, result), unit === 'tokens' ? TOTAL : unit, usd)];
}

/** One form of a result, with the reader of its lines. */
interface Form<Schema extends TSchema> {
  readonly check: SchemaCheck<Schema>;
  readonly read: (day: string, result: Static<Schema>, where: string) => readonly BilledLine[];
}
const form = <Schema extends TSchema>(schema: Schema, read: Form<Schema>['read']) => {
  const check = new SchemaCheck(schema);
  /** @returns null for a result of another form */
  return (day: string, result: unknown, where: string) => (check.accepts(result) ? read(day, result, where) : null);
};

/** The results of each provider. The first form that a result has is read. */
const FORMS = {
  openai: [form(OpenAiTokens, openAiTokens), form(OpenAiSearches, searches), form(OpenAiCost, openAiCost)],
  anthropic: [form(UsageResult, anthropicUsage), form(CostResult, anthropicCost)],
};

const openAiPage = new SchemaCheck(OpenAiPage);
const anthropicPage = new SchemaCheck(AnthropicPage);

function pageBill(page: unknown, where: string): Bill {
  if (openAiPage.accepts(page)) {
    const lines = page.data.flatMap(({ start_time, results }) =>
      results.flatMap((result, at) => linesOf('openai', dayOf(start_time), result, `${where}, result ${at + 1}`)),
    );
    return { provider: 'openai', lines };
  }
  if (!anthropicPage.accepts(page)) throw new UsageError(`${where} has no known form. ${KNOWN}`);
  const lines = page.data.flatMap((bucket, nth) => {
    const day = bucket.starting_at.slice(0, 10);
    const results = 'results' in bucket ? bucket.results : [{ ...bucket.group, ...measured(bucket) }];
    return results.flatMap((result, at) =>
      linesOf('anthropic', day, result, `${where}, entry ${nth + 1}, result ${at + 1}`),
    );
  });
  return { provider: 'anthropic', lines };
}

/** The figures of an item of `/v1/organizations/analytics`. */
const measured = ({ usage, cost }: { readonly usage?: unknown; readonly cost?: unknown }): object =>
  isObject(usage) ? usage : isObject(cost) ? cost : {};

/** OpenAI counts things that no request to the gateway uses, such as stored files. They are lines of their own. */
function linesOf(provider: BillingProvider, day: string, result: unknown, where: string): readonly BilledLine[] {
  for (const read of FORMS[provider]) {
    const lines = read(day, result, where);
    if (lines !== null) return lines;
  }
  const kind = isObject(result) && typeof result.object === 'string' ? result.object : null;
  if (kind?.startsWith('organization.usage.')) return [];
  throw new UsageError(`${where} has no known form. ${KNOWN}`);
}

const dayOf = (seconds: number): string => new Date(seconds * 1_000).toISOString().slice(0, 10);

const KNOWN =
  'The command reads answers of OpenAI’s `organization/costs` and `organization/usage`, answers of Anthropic’s usage and cost reports, and the CSV exports of both.';

/** A CSV export as rows of JSON. `columns` are the columns by which the export is recognized. */
interface Export {
  readonly provider: BillingProvider;
  readonly columns: readonly string[];
  readonly day: (row: Row) => string;
  /** Makes the result that the API would return. */
  readonly result: (row: Row) => object;
}
type Row = Readonly<Record<string, string>>;

const number = (value: string | undefined): number | null =>
  value === undefined || value === '' ? null : Number(value);
const stated = (value: string | undefined): string | null => (value === undefined || value === '' ? null : value);

const EXPORTS: readonly Export[] = [
  {
    provider: 'openai',
    columns: ['start_time_iso', 'amount_value', 'amount_currency'],
    day: ({ start_time_iso: start = '' }) => start.slice(0, 10),
    result: ({ amount_value: value, amount_currency: currency, ...row }) => ({
      object: 'organization.costs.result',
      amount: stated(value) && { value, currency: currency ?? '' },
      line_item: stated(row.line_item),
      quantity: number(row.quantity),
      quantity_unit: stated(row.quantity_unit),
      project_id: stated(row.project_id),
      api_key_id: stated(row.api_key_id),
    }),
  },
  {
    provider: 'openai',
    columns: ['start_time_iso', 'model', 'input_tokens', 'output_tokens'],
    day: ({ start_time_iso: start = '' }) => start.slice(0, 10),
    result: (row) => ({
      object: 'organization.usage.completions.result',
      ...{ model: stated(row.model), service_tier: stated(row.service_tier), batch: row.batch === 'true' },
      ...{ project_id: stated(row.project_id), api_key_id: stated(row.api_key_id) },
      input_tokens: number(row.input_tokens) ?? 0,
      output_tokens: number(row.output_tokens),
      input_cached_tokens: number(row.input_cached_tokens),
      input_cache_write_tokens: number(row.input_cache_write_tokens),
      input_cache_write_12h_tokens: number(row.input_cache_write_12h_tokens),
      num_model_requests: number(row.num_model_requests),
    }),
  },
  {
    provider: 'anthropic',
    columns: ['usage_date_utc', 'model', 'cost_usd'],
    day: ({ usage_date_utc: day = '' }) => day.slice(0, 10),
    result: (row) => ({
      ...anthropicGroup(row),
      amount: cents(row.cost_usd),
      currency: 'USD',
      cost_type: stated(row.cost_type),
      token_type: stated(row.token_type),
    }),
  },
  {
    provider: 'anthropic',
    columns: ['usage_date_utc', 'model', 'usage_input_tokens_no_cache', 'usage_output_tokens'],
    day: ({ usage_date_utc: day = '' }) => day.slice(0, 10),
    result: (row) => ({
      ...anthropicGroup(row),
      uncached_input_tokens: number(row.usage_input_tokens_no_cache) ?? 0,
      cache_read_input_tokens: number(row.usage_input_tokens_cache_read),
      output_tokens: number(row.usage_output_tokens),
      cache_creation: {
        ephemeral_5m_input_tokens: number(row.usage_input_tokens_cache_write_5m),
        ephemeral_1h_input_tokens: number(row.usage_input_tokens_cache_write_1h),
      },
      server_tool_use: { web_search: number(row.web_search_count) ?? 0 },
    }),
  },
];

const anthropicGroup = ({ model, usage_type: tier, api_key: key, workspace, speed }: Row) => ({
  ...{ model: stated(model), service_tier: stated(tier), speed: stated(speed) },
  ...{ api_key_id: stated(key), workspace_id: stated(workspace) },
});

/** Converts an amount of USD to cents, as the API writes them. A text that is no amount stays as it is, so that its row is named. */
function cents(usd = ''): string {
  const amount = parseDecimal(usd);
  return amount === null ? usd : plainText(times(amount, 100n));
}

function csvBill(text: string, name: string): Bill {
  const rows = rowsIn(text, name);
  const columns = new Set(Object.keys(rows[0] ?? {}));
  const found = EXPORTS.find((one) => one.columns.every((column) => columns.has(column)));
  if (!found) throw new UsageError(`${name} has no known form. ${KNOWN}`);
  const { provider, day, result } = found;
  const lines = rows.flatMap((row, at) => linesOf(provider, day(row), result(row), `${name}, row ${at + 2}`));
  return { provider, lines };
}

function rowsIn(text: string, name: string): readonly Row[] {
  try {
    return parse<Row>(text, { columns: true, bom: true, skip_empty_lines: true, trim: true });
  } catch (cause) {
    throw new UsageError(`${name} is neither JSON nor CSV: ${cause instanceof Error ? cause.message : cause}`);
  }
}
