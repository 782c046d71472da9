import { defaultEffort, EFFORTS, type Effort, type Facts, factsOf, median } from './facts.ts';

/** How a model's ability at a task was computed. */
export type Derivation = 'direct' | 'linked' | 'family';

export interface Ability {
  /** Logits above the middle of the catalog, at the requested effort. */
  readonly logits: number;
  readonly derivation: Derivation;
  /** The day of the newest score that the ability is based on. */
  readonly asOf: string;
}

export interface Abilities {
  /**
   * Returns the ability for a task. `measures` are specific to the task; the index applies to all tasks. The ability is for `effort`, or
   * for the model's default effort.
   */
  of(model: string, measures: readonly string[], effort?: Effort): Ability;
  /** Returns the ability that a single measure gives a model at its default effort; null if the model has no score of this measure. */
  by(model: string, measure: string): number | null;
}

const INDEX = 'index';

/**
 * Converts all scores to the scale of the index, as tests are equated: over the models that have both a measure and the index, the measure
 * gets the mean and spread of the index. A measure's weight is its agreement with the index (r²); the index has weight 1. A measure that is
 * mostly noise among these models therefore has little effect. Differences in effort are corrected by the median gain of each step.
 */
export function abilitiesOf(facts: Facts): Abilities {
  const height = heightsOf(facts);
  const scores = (model: string, measure: string) =>
    (factsOf(facts, model).scores ?? []).filter((score) => score.measure === measure);
  const indexAt = (model: string, effort: Effort) => {
    const rows = scores(model, INDEX);
    if (rows.length === 0) throw new TypeError(`${model} has no score of the index`);
    return mean(rows.map((row) => row.value - height[row.effort] + height[effort]));
  };
  const links = new Map<string, Link>();
  for (const measure of Object.keys(facts.measures)) {
    const pairs = Object.keys(facts.models)
      .filter((model) => facts.models[model]?.like === undefined)
      .flatMap((model) => scores(model, measure).map((row) => [row.value, indexAt(model, row.effort)] as const));
    links.set(measure, measure === INDEX ? { slope: 1, offset: 0, weight: 1 } : linkOf(pairs));
  }
  const by = (model: string, measure: string, effort = defaultEffort(facts, model)): number | null => {
    const link = links.get(measure);
    if (!link) throw new TypeError(`no measure ${measure}`);
    const rows = scores(model, measure);
    if (rows.length === 0) return null;
    return mean(rows.map((row) => link.slope * row.value + link.offset - height[row.effort] + height[effort]));
  };
  return {
    by: (model, measure) => by(model, measure),
    of(model, measures, effort) {
      const found = [INDEX, ...measures].flatMap((measure) => {
        const logits = by(model, measure, effort);
        return logits === null ? [] : [{ measure, logits, weight: links.get(measure)?.weight ?? 0 }];
      });
      const total = found.reduce((sum, { weight }) => sum + weight, 0);
      const days = found.flatMap(({ measure }) => scores(model, measure).map(({ date }) => date));
      const own = found.length > 1 ? 'direct' : 'linked';
      return {
        logits: found.reduce((sum, { logits, weight }) => sum + logits * weight, 0) / total,
        derivation: facts.models[model]?.like === undefined ? own : 'family',
        asOf: days.sort().at(-1) ?? '',
      };
    },
  };
}

interface Link {
  readonly slope: number;
  readonly offset: number;
  readonly weight: number;
}

function linkOf(pairs: readonly (readonly [number, number])[]): Link {
  const x = pairs.map(([value]) => value);
  const y = pairs.map(([, index]) => index);
  const slope = deviation(y) / deviation(x);
  const together = mean(pairs.map(([a, b]) => (a - mean(x)) * (b - mean(y))));
  const r = together / (deviation(x) * deviation(y));
  return { slope, offset: mean(y) - slope * mean(x), weight: Math.max(0, r) ** 2 };
}

/** Returns the logits that each effort is worth compared with none. */
function heightsOf({ effort_gains: gains }: Facts): Readonly<Record<Effort, number>> {
  const height: Record<Effort, number> = { none: 0, low: 0, medium: 0, high: 0, xhigh: 0, max: 0 };
  for (const [at, to] of EFFORTS.entries()) {
    const from = EFFORTS[at - 1];
    if (from === undefined) continue;
    height[to] =
      height[from] + median(gains.filter((one) => one.from === from && one.to === to).map(({ gain }) => gain));
  }
  return height;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

function deviation(values: readonly number[]): number {
  const centre = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - centre) ** 2)));
}
