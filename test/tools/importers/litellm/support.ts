import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ImportResult, importLitellm, NotIncluded } from '../../../../src/tools/importers/litellm/litellm.ts';
import { rehearsed } from '../../../policy/rehearsal.ts';

export const CONFIGS = join(import.meta.dir, 'configs');
/** Configurations that are imported without a problem. */
export const GOOD = [
  ...[
    'quickstart',
    'load-balanced',
    'fallbacks',
    'budgets',
    'self-hosted',
    'wildcards-and-credentials',
    'guardrails',
    'kitchen-sink',
  ],
] as const;

export const configuration = (name: string): string => readFileSync(join(CONFIGS, `${name}.yaml`), 'utf8');

/** A fixed catalog, independent of the shipped one. */
const CATALOG = readFileSync(join(import.meta.dir, 'catalog.yaml'), 'utf8');

const EMBEDDINGS = readFileSync(join(import.meta.dir, 'embeddings.yaml'), 'utf8');

/** Fixed facts, independent of the facts table. */
const price = (input: number, output: number) => ({
  input,
  output,
  tiers: [],
  as_of: '2026-07-01',
  basis: 'aggregator',
});
const sizes = { context_window: 128_000, max_output: 16_384, capabilities: ['tools', 'vision'], temperature: true };
const ROWS: Readonly<Record<string, object>> = {
  'openai gpt-4o': { price: price(2.5, 10), ...sizes, released: '2024-05-13' },
  'openai gpt-4': { price: price(30, 60), ...sizes },
  'openai gpt-4.1': { price: price(2, 8), ...sizes, context_window: 1_047_576 },
  'openai o3': { price: price(2, 8), ...sizes, temperature: false },
  'openai o4-mini': { price: price(1.1, 4.4), ...sizes, temperature: false },
  'anthropic claude-sonnet-4-5-20250929': { price: price(3, 15), ...sizes, context_window: 200_000 },
  'anthropic claude-3-5-haiku-20241022': { price: price(0.8, 4), ...sizes },
  'gemini gemini-2.5-pro': {
    price: { ...price(1.25, 10), tiers: [{ over_input_tokens: 200_000, input: 2.5, output: 15 }] },
    ...{ ...sizes, context_window: 1_048_576 },
  },
  'groq llama-3.1-8b-instant': { price: price(0.05, 0.08), ...sizes },
  'openai gpt-4o-mini': { price: price(0.15, 0.6), ...sizes },
};
const FACTS = {
  sourceOf: () => 'anomalyco/models.dev@f3fc6922',
  of: (preset: string, id: string) => ROWS[`${preset} ${id}`] ?? null,
};

type PriceMap = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

/** @param files the files that the configuration includes */
export const imported = (
  text: string,
  priceMap: PriceMap = new Map(),
  files: Readonly<Record<string, string>> = {},
): ImportResult =>
  importLitellm(text, {
    name: 'config.yaml',
    catalog: [CATALOG, EMBEDDINGS],
    facts: FACTS,
    priceMap,
    today: '2026-11-20',
    include: (name) => {
      const found = files[name];
      if (found === undefined) throw new NotIncluded('the file does not exist or cannot be read');
      return found;
    },
  });

/**
 * Returns the errors in files, as if every variable were set. Warnings are not returned; they have the word "warning" after their position.
 */
export async function errorsIn(files: ImportResult['files']): Promise<string[]> {
  const printed = await rehearsed(
    files.map(({ name, text }) => ({ path: name, text })),
    () => 'http://127.0.0.1:9/v1',
  );
  return printed.match(/^\S+:\d+:\d+ {2}(?!warning).*/gm) ?? [];
}
