import type { Data } from './data.ts';
import { outputTokens } from './data.ts';
import { hullOf } from './hull.ts';
import { referencesOf, singlesOf } from './sweep.ts';
import type { Trial } from './trials.ts';

/** The policy of a trial except models and prices. */
export interface Declaration {
  /** The qualities by model of the pool. */
  readonly general: Float64Array;
  /** The qualities by task name; other tasks use `general`. */
  readonly byTask: ReadonlyMap<string, Float64Array>;
}

/**
 * Returns a policy for a pool as a user writes it (JSON is YAML). The cost of an answer without its prompt is a price per request, because
 * models differ in how much they write.
 */
export const policyOf = (trial: Trial, models: Data['models'], declaration: Declaration): string =>
  JSON.stringify({
    ...contentOf(trial, models, declaration),
    version: 1,
  });

function contentOf({ pool }: Trial, models: Data['models'], declaration: Declaration) {
  const { general, byTask } = declaration;
  const answers = pool.models.map((id) => outputTokens(id, pool.source, models));
  const expected = Math.max(1, Math.round(mean(answers)));
  const perAnswer = pool.models.map((id, i) => answers[i]! * models.get(id)!.output);
  const size = { expected_output_tokens: expected, default_input_tokens: 200 };
  return {
    providers: { nobody: { adapter: 'openai-compatible', base_url: 'http://127.0.0.1:9/v1' } },
    tasks: { general: size, ...Object.fromEntries([...byTask.keys()].map((task) => [task, size])) },
    models: Object.fromEntries(
      pool.models.map((id, i) => [
        id,
        {
          provider: 'nobody',
          price: {
            input: models.get(id)!.input,
            output: 0,
            // Prices are exact decimals, so digits are cut off.
            per_request: Number((perAnswer[i]! / 1_000_000).toFixed(8)),
            as_of: '2026-11-01',
            basis: 'own',
          },
          context_window: 131_072,
          max_output: 8_192,
          quality: {
            ...Object.fromEntries([...byTask].map(([task, quality]) => [task, quality[i]!])),
            default: general[i]!,
            basis: 'measured',
          },
        },
      ]),
    ),
  };
}

/** The models that the selector `auto` states; its order chooses if absent. */
export interface StatedModels {
  readonly usual: readonly string[];
  readonly strong: readonly string[];
}

/** Returns a policy of version 2 with the shipped selector `auto`. */
export function tieredPolicyOf(
  trial: Trial,
  models: Data['models'],
  declaration: Declaration,
  tiers?: StatedModels,
): string {
  return JSON.stringify({
    ...contentOf(trial, models, declaration),
    version: 1,
    selectors: { auto: { strategy: 'auto', ...(tiers && { tiers }) } },
  });
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * Returns the weight λ of cost at which, according to the declared qualities, two neighbouring models in the middle of the hull are equally
 * good (of two middle pairs, the more expensive pair). At this weight the request decides which model is chosen.
 */
export function middleLambda(declared: Float64Array, teach: Trial['teach']): number {
  const ones = new Float64Array(teach.rows.length).fill(1);
  const { points } = singlesOf(teach, ones);
  const hull = hullOf(points.map(([cost], i) => [cost, declared[i]!]));
  const reference = referencesOf(teach, true)[0]!;
  if (hull.length < 2) return 1;
  const left = Math.ceil((hull.length - 2) / 2);
  const [[fromCost, from], [toCost, to]] = [hull[left]!, hull[left + 1]!];
  return ((to - from) / (toCost - fromCost)) * reference;
}
