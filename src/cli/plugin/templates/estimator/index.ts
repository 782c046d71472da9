import { defineEstimator, type EstimatorMemory, logitOf, Type } from 'signalbox/plugin';

/** The sum of scores, and the number of outcomes that they count as. */
interface Tally {
  readonly sum: number;
  readonly weight: number;
}

const NOTHING: Tally = { sum: 0, weight: 0 };
/** The most models in memory. Beyond it, the oldest is forgotten. */
const MODELS_MAX = 2000;

/** Averages the declared quality, which counts as `declared_worth` outcomes, with real outcomes. It ignores the question's text. */
export const exampleEstimator = defineEstimator({
  name: 'example',
  status: 'alpha',
  options: Type.Object(
    {
      declared_worth: Type.Number({
        minimum: 1,
        maximum: 100_000,
        default: 100,
        description: 'How many outcomes a declared figure counts as.',
      }),
    },
    { additionalProperties: false },
  ),
  prepare: ({ declared_worth }) => ({
    // Reads nothing of a question.
    read: () => new Uint8Array(),
    open: (parts) => openTallies(parts, declared_worth),
  }),
});

function openTallies(parts: ReadonlyMap<string, Uint8Array>, worth: number): EstimatorMemory {
  const tallies = new Map([...parts].map(([model, bytes]) => [model, decode(bytes)]));
  const changed = new Set<string>();
  const drop = (model: string) => {
    if (tallies.delete(model)) changed.add(model);
  };
  return {
    over({ tasks, models }) {
      const at = (model: number, task: number): Tally =>
        tallies.get(models[model]?.id ?? '')?.get(tasks[task] ?? '') ?? NOTHING;
      const mean = (declared: number, { sum, weight }: Tally) => (worth * declared + sum) / (worth + weight);
      return {
        estimate({ task, declared }, into) {
          into.text.fill(0);
          into.length = 0;
          into.trust = 0;
          declared.forEach((share, model) => {
            const known = at(model, task);
            const quality = mean(share, known);
            into.quality[model] = quality;
            into.outcomes[model] = logitOf(quality) - logitOf(share);
            into.counts[model] = known.weight;
          });
        },
        learn({ model, task, declared, score, weight }) {
          const id = models[model]?.id ?? '';
          const { sum, weight: before } = at(model, task);
          const ofModel = tallies.get(id) ?? new Map<string, Tally>();
          ofModel.set(tasks[task] ?? '', { sum: sum + weight * score, weight: before + weight });
          tallies.set(id, ofModel);
          changed.add(id);
          for (const oldest of tallies.keys()) {
            if (tallies.size <= MODELS_MAX) break;
            drop(oldest);
          }
          return mean(declared, { sum, weight: before });
        },
        known: () =>
          models.flatMap(({ id, quality }) =>
            tasks.flatMap((task, index) => {
              const known = tallies.get(id)?.get(task);
              const declared = quality[index] ?? 0;
              if (!known) return [];
              return [{ model: id, task, outcomes: known.weight, declared, learnt: mean(declared, known) }];
            }),
          ),
        telling: () => [],
      };
    },
    forget(model) {
      for (const id of model === null ? [...tallies.keys()] : [model]) drop(id);
    },
    save(everything) {
      const models = [...(everything ? tallies.keys() : changed)];
      changed.clear();
      return new Map(models.map((model) => [model, encode(tallies.get(model))]));
    },
  };
}

/** One part for each model: `[["coding", 12.5, 20], …]`; null for a model that was forgotten. */
function encode(ofModel: ReadonlyMap<string, Tally> | undefined): Uint8Array | null {
  if (!ofModel) return null;
  return new TextEncoder().encode(JSON.stringify([...ofModel].map(([task, { sum, weight }]) => [task, sum, weight])));
}

function decode(bytes: Uint8Array): Map<string, Tally> {
  const rows: unknown = JSON.parse(new TextDecoder().decode(bytes));
  if (!Array.isArray(rows)) throw new Error('a part of `example` is no list');
  return new Map(
    rows.map((row: unknown) => {
      const [task, sum, weight]: unknown[] = Array.isArray(row) ? row : [];
      if (typeof task !== 'string' || typeof sum !== 'number' || typeof weight !== 'number') {
        throw new Error('a part of `example` has a row that is not a task, a sum and a weight');
      }
      return [task, { sum, weight }];
    }),
  );
}
