import type { Data, Part, Row } from './data.ts';
import { outputTokens, tokensOf } from './data.ts';

/** The models that compete on a source. */
interface PoolNames {
  readonly name: string;
  readonly source: string;
  /** If the models are null, `derivedModels` finds them. */
  readonly models: readonly string[] | null;
}

/**
 * The pools of sources that are known by name. The pools on `mmlu-pro` have the hulls .6906 and .5996, and the pool on `llmrouter-mix` has
 * .614. The models of these pools were chosen by the hulls, which only the vertices of the hulls determine (of mmlu-pro: phi-3-mini,
 * gemini-flash and -pro; mistral-7b-v0.2, llama-3.1-8b and -70b and gemini-pro), and completed with models of other families. The choice of
 * these models used no figure of a router.
 */
const KNOWN: readonly PoolNames[] = [
  {
    name: 'routellm-mmlu',
    source: 'routellm-mmlu',
    models: ['mixtral-8x7b-instruct-v0.1', 'gpt-4-1106-preview'],
  },
  {
    name: 'routellm-gsm8k',
    source: 'routellm-gsm8k',
    models: ['mixtral-8x7b-instruct-v0.1', 'gpt-4-1106-preview'],
  },
  { name: 'zeroeval-gsm', source: 'zeroeval-gsm', models: ['mixtral-8x7b-instruct-v0.1', 'gpt-4o-2024-08-06'] },
  { name: 'zeroeval-gsm-10', source: 'zeroeval-gsm', models: null },
  {
    name: 'mmlu-pro-10',
    source: 'mmlu-pro',
    models: [
      'phi-3-mini-4k-instruct',
      'gemini-1.5-flash-002',
      'gemini-1.5-pro-002',
      'llama-3.1-70b-instruct',
      'llama-3.1-8b-instruct',
      'mixtral-8x7b-instruct-v0.1',
      'qwen1.5-72b-chat',
      'mathstral-7b',
      'command-r',
      'jamba-1.5-large',
    ],
  },
  {
    name: 'mmlu-pro-6',
    source: 'mmlu-pro',
    models: [
      'mistral-7b-instruct-v0.2',
      'llama-3.1-8b-instruct',
      'llama-3.1-70b-instruct',
      'gemini-1.5-pro-002',
      'mixtral-8x7b-instruct-v0.1',
      'command-r',
    ],
  },
  {
    name: 'llmrouter-mix-7',
    source: 'llmrouter-mix',
    models: [
      'codegemma-7b',
      'llama-3.1-nemotron-51b-instruct',
      'llama-3.3-nemotron-super-49b-v1',
      'llama3-chatqa-1.5-70b',
      'llama3-chatqa-1.5-8b',
      'mistral-7b-instruct-v0.3',
      'qwen2.5-7b-instruct',
    ],
  },
];

/** The maximum number of models in a derived pool, and the minimum share of the source's rows for which each model must have labels. */
const MODELS_MAX = 10;
const LABELLED_MIN = 0.95;
/** The minimum number of rows. Fewer rows are not enough to measure. */
const ROWS_MIN = 100;

export interface Pool {
  readonly name: string;
  readonly source: string;
  /** The models by ascending mean cost. Two models are a pair. */
  readonly models: readonly string[];
  /** Rows for teaching; null if the measured rows must serve both purposes. */
  readonly train: Sheet | null;
  readonly test: Sheet;
}

/** Rows with labels of all models of a pool. Matrices are by row, then by model. */
export interface Sheet {
  readonly rows: readonly Row[];
  readonly labels: Float64Array;
  /** The cost of each answer in USD: the prompt at 4 characters per token, and the model's mean output on the source. */
  readonly costs: Float64Array;
}

/** Returns the pools of known sources, and one derived pool for each other source. */
export function poolsOf({ parts, models }: Data): Pool[] {
  const sources = new Set([...parts.test, ...parts.heldout].map(({ source }) => source));
  const named = KNOWN.filter(({ source }) => sources.has(source));
  const others = [...sources].filter((source) => !named.some((one) => one.source === source));
  const all = [...named, ...others.map((source) => ({ name: source, source, models: null }))];
  return all.flatMap(({ name, source, models: given }) => {
    const part: Part = parts.test.some((row) => row.source === source) ? 'test' : 'heldout';
    const ofSource = (which: Part) => parts[which].filter((row) => row.source === source);
    const unsorted = given?.filter((id) => models.has(id)) ?? derivedModels(ofSource(part), source, models);
    if (unsorted.length < 2) return [];
    const ids = byCost(unsorted, source, models);
    const sheet = (which: Part) => sheetOf(ofSource(which), ids, source, models);
    const [test, train] = [sheet(part), part === 'test' ? sheet('train') : null];
    if (test.rows.length < ROWS_MIN) return [];
    return [{ name, source, models: ids, test, train: train && train.rows.length >= ROWS_MIN ? train : null }];
  });
}

/** Returns a price per request that orders models by cost regardless of the prompt: USD of 1M requests of 200 tokens. */
const priceOf = (id: string, source: string, models: Data['models']): number => {
  const { input, output } = models.get(id)!;
  return 200 * input + outputTokens(id, source, models) * output;
};

const byCost = (ids: readonly string[], source: string, models: Data['models']): string[] =>
  [...ids].sort((a, b) => priceOf(a, source, models) - priceOf(b, source, models) || (a < b ? -1 : 1));

/**
 * Returns ten models at even distances in the order of their cost, including the cheapest and the most expensive, from the models that have
 * a price and labels of nearly all rows. The choice uses no label.
 */
function derivedModels(rows: readonly Row[], source: string, models: Data['models']): string[] {
  const counts = new Map<string, number>();
  for (const { labels } of rows) for (const id of labels.keys()) counts.set(id, (counts.get(id) ?? 0) + 1);
  const usable = [...counts.keys()].filter((id) => models.has(id) && counts.get(id)! >= LABELLED_MIN * rows.length);
  const sorted = byCost(usable, source, models);
  if (sorted.length <= MODELS_MAX) return sorted;
  const step = (sorted.length - 1) / (MODELS_MAX - 1);
  return Array.from({ length: MODELS_MAX }, (_, i) => sorted[Math.round(i * step)]!);
}

function sheetOf(all: readonly Row[], ids: readonly string[], source: string, models: Data['models']): Sheet {
  const rows = all.filter(({ labels }) => ids.every((id) => labels.has(id)));
  const labels = Float64Array.from(rows.flatMap((row) => ids.map((id) => row.labels.get(id)!)));
  const costs = Float64Array.from(
    rows.flatMap(({ prompt }) =>
      ids.map((id) => {
        const { input, output } = models.get(id)!;
        return (tokensOf(prompt) * input + outputTokens(id, source, models) * output) / 1_000_000;
      }),
    ),
  );
  return { rows, labels, costs };
}

/** Returns some rows of a sheet, in the order of their indexes. */
export function pick({ rows, labels, costs }: Sheet, indexes: ArrayLike<number>): Sheet {
  const m = labels.length / rows.length;
  const some = Array.from(indexes);
  const take = (all: Float64Array) => Float64Array.from(some.flatMap((at) => [...all.subarray(at * m, (at + 1) * m)]));
  return { rows: some.map((at) => rows[at]!), labels: take(labels), costs: take(costs) };
}
