import { WORTHS } from './kinds.ts';
import { capabilitiesFor, inputTokens, type KeySet, type Offered, offeredBy } from './offers.ts';
import type { Case } from './panel.ts';
import { type Ability, levelOf, REPUTATION } from './reputation.ts';

export const SELECTORS = ['auto', 'auto-cheap', 'auto-fast'] as const;
export type Selector = (typeof SELECTORS)[number];

/** The cost and time of a model for a request, estimated simply from list prices, usual lengths and classes of speed. */
export interface Reckoned {
  readonly id: string;
  /** Credits, each worth a tenth of a US cent. */
  readonly credits: number;
  /** Seconds to the first token of the answer, including hidden reasoning. */
  readonly firstS: number;
  /** Seconds until the answer ends. */
  readonly totalS: number;
  /** The levels that the model is above the request's needs, for the ability with the least; negative if the model is below the needs. */
  readonly margin: number;
  /** The number of levels that the model is below the request's needs, for the ability that is lacking most; 0 if it does the task well. */
  readonly lacks: number;
  /** The number of missing abilities if one level less is enough, see `leastOf`. */
  readonly lacksLoosely: number;
}

/**
 * If a request needs level 3 or more, `auto-cheap` and `auto-fast` may choose a model one level below. Below level 3 the full level is
 * required.
 */
const leastOf = (level: number): number => (level > 2 ? level - 1 : level);

function reckon({ id, price }: Offered, { needs, visible, hidden, body }: Case): Reckoned {
  const { startS, rate, thinking, readRate } = REPUTATION[id]!;
  const input = inputTokens(body);
  const [tier] = (price.tiers ?? []).filter((one) => input > one.over_input_tokens).reverse();
  const { input: perInput, output: perOutput } = tier ?? price;
  const said = Math.min(visible, body.max_tokens ?? body.max_completion_tokens ?? visible);
  const firstS = startS + input / readRate + (hidden * thinking) / rate;
  const abilities = Object.entries(needs) as [Ability, number][];
  const marginTo = (least: (level: number) => number) =>
    Math.min(...abilities.map(([ability, level]) => (levelOf(id, ability) ?? 0) - least(level)));
  const margin = marginTo((level) => level);
  return {
    id,
    credits: (input * perInput + (said + hidden * thinking) * perOutput) / 1_000,
    firstS,
    totalS: firstS + said / rate,
    margin,
    lacks: Math.max(0, -margin),
    lacksLoosely: Math.max(0, -marginTo(leastOf)),
  };
}

/** Returns every model of a set of keys that can serve the request at all. */
export function reckonAll(one: Case, keys: KeySet): Reckoned[] {
  const needed = capabilitiesFor(one.body);
  const room = inputTokens(one.body) + one.visible;
  return offeredBy(keys)
    .filter(({ capabilities }) => needed.every((name) => capabilities.includes(name)))
    .filter(({ contextWindow }) => contextWindow >= room)
    .map((offer) => reckon(offer, one));
}

const least = (values: readonly number[]): number => Math.min(...values);
/** Differences below this do not matter: 0.01 US cents. */
export const CREDITS_NOISE = 0.1;
/** A fast model may cost more than a good one, but only by this factor. */
export const FAST_COST = 5;
/** Answers within this many seconds count as equally fast. */
export const FAST_S = 5;
/** Hidden reasoning varies by a factor of two between days and prompts, so smaller differences count as equal. */
export const NEAR = 2;

/** Returns the faults of a choice; empty if a sensible engineer accepts it. */
export function faultsOf(choice: string | null, selector: Selector, one: Case, keys: KeySet): string[] {
  const able = reckonAll(one, keys);
  if (choice === null) return able.length === 0 ? [] : ['refused'];
  const chosen = able.find(({ id }) => id === choice);
  if (!chosen) return ['cannot'];
  return FAULTS[selector](chosen, able, one);
}

type Fault = (chosen: Reckoned, able: readonly Reckoned[], one: Case) => string[];

/** Returns the models that do the task well, or if there are none, the models that lack least. */
export function doing(able: readonly Reckoned[]): Reckoned[] {
  const best = least(able.map(({ lacks }) => lacks));
  return able.filter(({ lacks }) => lacks === best);
}

const isDear = ({ credits }: Reckoned, ratio: number, among: readonly Reckoned[]): boolean =>
  credits > Math.max(ratio * least(among.map((other) => other.credits)), CREDITS_NOISE);

/** A model may be one level below the needs, but not weaker than the weakest model that does the task well. */
function isWeak({ lacksLoosely }: Reckoned, able: readonly Reckoned[]): boolean {
  return lacksLoosely > Math.max(...doing(able).map((one) => one.lacksLoosely));
}

const FAULTS: Readonly<Record<Selector, Fault>> = {
  auto: (chosen, able, { worth }) => {
    const { costRatio, patienceS } = WORTHS[worth];
    const good = doing(able);
    const fair = good.filter((one) => !isDear(one, costRatio, good));
    const patience = Math.max(patienceS, least(fair.map(({ firstS }) => firstS)) * NEAR);
    return [
      ...(good.some(({ id }) => id === chosen.id) ? [] : ['weak']),
      ...(isDear(chosen, costRatio, good) ? ['dear'] : []),
      ...(chosen.firstS > patience ? ['slow'] : []),
    ];
  },
  'auto-cheap': (chosen, able) => [
    ...(isWeak(chosen, able) ? ['weak'] : []),
    ...(isDear(chosen, NEAR, doing(able)) ? ['dear'] : []),
  ],
  'auto-fast': (chosen, able, { worth }) => {
    const good = doing(able);
    const ratio = WORTHS[worth].costRatio * FAST_COST;
    const fair = good.filter((one) => !isDear(one, ratio, good));
    const limit = Math.max(FAST_S, least(fair.map(({ totalS }) => totalS)) * NEAR);
    return [
      ...(isWeak(chosen, able) ? ['weak'] : []),
      ...(isDear(chosen, ratio, good) ? ['dear'] : []),
      ...(chosen.totalS > limit ? ['slow'] : []),
    ];
  },
};

/** A choice that is more expensive or slower by more than this factor breaks the promise of the selectors' names. */
const LAW_NOISE = 1.5;

export type Choices = Readonly<Record<Selector, string | null>>;

/** Returns the promises between the selectors' names that the choices break. */
export function lawsBroken(choices: Choices, one: Case, keys: KeySet): string[] {
  const by = new Map(reckonAll(one, keys).map((reckoned) => [reckoned.id, reckoned]));
  const [auto, cheap, fast] = SELECTORS.map((selector) => by.get(choices[selector] ?? ''));
  return [
    ...(auto && cheap && cheap.credits > auto.credits * LAW_NOISE + CREDITS_NOISE
      ? ['auto-cheap dearer than auto']
      : []),
    ...(auto && fast && fast.totalS > auto.totalS * LAW_NOISE + 0.5 ? ['auto-fast slower than auto'] : []),
  ];
}

/** Whether Signalbox read the task as the panel expects it. */
export const isTask = (task: string, one: Case): boolean => task === one.task || one.or.includes(task);
