import fc from 'fast-check';
import type { CallerWeights, PreparedStrategy, StrategyPlugin } from '../contract/strategy.ts';
import {
  candidatesOf,
  dominates,
  extremeTrials,
  leftovers,
  nameOf,
  type Trial,
  tellTrial,
  trials,
  weights,
} from './candidates.ts';
import type { Host } from './host.ts';
import { frozen, type Law, law, messageOf, quoted, same, shown } from './law.ts';
import { defaultsOf, optionsFrom } from './schema-values.ts';
import { reachedFault, sealed } from './sealed.ts';

export interface StrategySubject {
  readonly plugin: StrategyPlugin;
  readonly host: Host;
}

type Options = Readonly<Record<string, unknown>>;
type Subject = StrategySubject;

/** Null where the plugin refuses the options: that it may, and says why. */
function prepared({ plugin }: Subject, options: Options): PreparedStrategy | null {
  try {
    return plugin.prepare(options);
  } catch {
    return null;
  }
}

const optionsOf = ({ plugin }: Subject) => optionsFrom(plugin.options);

const casesFor = (make: (options: fc.Arbitrary<Options>) => fc.Arbitrary<Trial>) => (subject: Subject) => {
  const options = optionsOf(subject);
  return options && make(options);
};

/** Utilities as the strategy writes them over leftovers. */
function scored(strategy: PreparedStrategy, trial: Trial, left = Number.NaN): Float64Array {
  const out = leftovers(trial, left);
  strategy.score(candidatesOf(trial), out, trial.weights ?? undefined);
  return out;
}

const utilitiesOf = (strategy: PreparedStrategy, trial: Trial): number[] => [
  ...scored(strategy, trial).subarray(0, trial.figures.length),
];

/** A law about a strategy that takes its options. */
export function aboutStrategy(text: {
  readonly name: string;
  readonly says: string;
  readonly isNote?: true;
  readonly trials?: (options: fc.Arbitrary<Options>) => fc.Arbitrary<Trial>;
  fault(strategy: PreparedStrategy, trial: Trial, subject: Subject): string | null;
}): Law<Subject> {
  return law({
    ...text,
    cases: casesFor(text.trials ?? trials),
    fault(subject, trial) {
      const strategy = prepared(subject, trial.options);
      return strategy && text.fault(strategy, trial, subject);
    },
    tell: tellTrial,
  });
}

const options: Law<Subject> = law({
  name: 'options',
  says: 'it takes its default options, and says why it refuses others that its schema allows',
  cases: (subject) => {
    const made = optionsOf(subject);
    return made && fc.oneof(made, fc.constant(defaultsOf(subject.plugin.options) ?? {}));
  },
  fault({ plugin }, given) {
    try {
      plugin.prepare(frozen(structuredClone(given)));
      return null;
    } catch (cause) {
      const defaults = defaultsOf(plugin.options);
      if (defaults && same(given, defaults)) return `prepare refuses the defaults: ${quoted(messageOf(cause))}`;
      const isTold = cause instanceof Error && cause.message.trim() !== '' && !/\n/.test(cause.message);
      const isOfTheLanguage = cause instanceof TypeError || cause instanceof ReferenceError;
      if (isTold && !isOfTheLanguage) return null;
      return `prepare throws ${quoted(messageOf(cause))}, which tells an operator nothing: throw an Error with one sentence`;
    }
  },
  tell: (given) => `options ${shown(given)}`,
});

/** The second half of `route_reason`. */
const REASON = /^[a-z0-9][a-z0-9 _-]{0,39}$/i;

const form = aboutStrategy({
  name: 'form',
  says: '`prepare` gives a reason of a word or two, a `score`, and perhaps `parts`, a least quality and what breaks ties',
  fault({ reason, score, parts, qualityFloor: floor, tieBreak }) {
    if (typeof reason !== 'string' || !REASON.test(reason))
      return `its reason is ${shown(reason)}: letters, digits, spaces and dashes, 40 at most`;
    if (typeof score !== 'function') return 'it has no `score`';
    if (floor !== undefined && !(typeof floor === 'number' && floor >= 0 && floor <= 1))
      return `its \`qualityFloor\` is ${shown(floor)}: a number from 0 to 1`;
    if (tieBreak !== undefined && tieBreak !== 'cost' && tieBreak !== 'latency')
      return `its \`tieBreak\` is ${shown(tieBreak)}: \`cost\`, \`latency\` or left out`;
    return parts === undefined || typeof parts === 'function' ? null : 'its `parts` is no function';
  },
});

function usable(utility: Float64Array, n: number): string | null {
  for (let at = 0; at < n; at++) {
    const value = utility[at]!;
    if (Number.isNaN(value)) return `the utility of ${nameOf(at)} is NaN, or was not written`;
    if (value === Number.POSITIVE_INFINITY) return `the utility of ${nameOf(at)} is Infinity`;
  }
  return null;
}

const fills = aboutStrategy({
  name: 'fills',
  says: 'it writes `out[0..n)`, each a finite number or -Infinity, whatever stood there, and nothing behind',
  fault(strategy, trial) {
    const n = trial.figures.length;
    const given: unknown = strategy.score(candidatesOf(trial), leftovers(trial, 0), trial.weights ?? undefined);
    if (given instanceof Promise)
      return '`score` gives a promise: nobody waits for it, so it must write before it returns';
    const [first, second] = [scored(strategy, trial), scored(strategy, trial, 12_345)];
    const fault = usable(first, n);
    if (fault) return fault;
    for (let at = 0; at < n; at++) {
      if (!Object.is(first[at], second[at]))
        return `the utility of ${nameOf(at)} depends on what stood in \`out\` before`;
    }
    const isBehind = second.subarray(n).some((value) => value !== 12_345);
    return isBehind ? 'it writes behind `out[n - 1]`: loop to `n`, not to the length of an array' : null;
  },
});

const extremes = aboutStrategy({
  name: 'extremes',
  says: 'nothing, very little, very much and all alike are scored, too',
  trials: extremeTrials,
  fault: (strategy, trial) => usable(scored(strategy, trial), trial.figures.length),
});

const weighed = aboutStrategy({
  name: 'weights',
  says: 'a caller’s weights, or none, leave the utilities numbers',
  trials: (given) => fc.tuple(trials(given), weights).map(([trial, own]) => ({ ...trial, weights: own })),
  fault(strategy, trial) {
    const n = trial.figures.length;
    return usable(scored(strategy, trial), n) ?? usable(scored(strategy, { ...trial, weights: null }), n);
  },
});

const reads = aboutStrategy({
  name: 'inputs',
  says: 'it changes none of what it is given',
  fault(strategy, trial) {
    const [given, before] = [candidatesOf(trial), candidatesOf(trial)];
    const own: CallerWeights | undefined = trial.weights ? frozen({ ...trial.weights }) : undefined;
    strategy.score(Object.freeze(given), leftovers(trial, 0), own);
    const changed = (['quality', 'cost', 'latency'] as const).find((name) => !same(given[name], before[name]));
    return changed ? `it writes into \`${changed}\`` : null;
  },
});

const deterministic = law<Subject, { readonly trial: Trial; readonly between: Trial }>({
  name: 'deterministic',
  says: 'the same candidates get the same utilities, also after others, without clock, chance and environment',
  cases: (subject) => {
    const made = casesFor(trials)(subject);
    return made && fc.record({ trial: made, between: made });
  },
  fault(subject, { trial, between }) {
    const strategy = prepared(subject, trial.options);
    if (!strategy) return null;
    const { value, reached } = sealed(() => {
      const first = utilitiesOf(strategy, trial);
      utilitiesOf(strategy, { ...between, options: trial.options });
      const again = utilitiesOf(strategy, trial);
      const fresh = subject.plugin.prepare(trial.options);
      return { first, again, fresh: utilitiesOf(fresh, trial) };
    });
    const found = reachedFault(reached);
    if (found) return found;
    if (!same(value.first, value.again)) return `it scores ${shown(value.first)}, and then ${shown(value.again)}`;
    if (!same(value.first, value.fresh))
      return `prepared again it scores ${shown(value.fresh)}, not ${shown(value.first)}`;
    return null;
  },
  tell: ({ trial, between }) => `${tellTrial(trial)}; between: ${tellTrial(between)}`,
});

/** As far as the host looks, by the scale of the figures. */
const isClose = (a: number, b: number): boolean =>
  a === b || Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a), Math.abs(b));

const orderless = aboutStrategy({
  name: 'order',
  says: 'the order of the candidates does not matter',
  fault(strategy, trial) {
    const forth = utilitiesOf(strategy, trial);
    const back = utilitiesOf(strategy, { ...trial, figures: trial.figures.toReversed() }).reverse();
    const at = forth.findIndex((value, i) => !isClose(value, back[i]!));
    return at < 0 ? null : `${nameOf(at)} is worth ${forth[at]}, and ${back[at]} with all in reverse order`;
  },
});

/** The ranking of the host, best first; null for utilities that it cannot use. */
export function rankingOf({ host }: Subject, strategy: PreparedStrategy, trial: Trial): readonly number[] | null {
  const into: number[] = [];
  const { faulty } = host.rank(
    candidatesOf(trial),
    scored(strategy, trial),
    trial.figures.length,
    into,
    strategy.tieBreak,
  );
  return faulty ? null : into;
}

const dominance = aboutStrategy({
  name: 'dominance',
  says: 'nobody ranks above a candidate at least as good in Q, C and L and better in one',
  fault(strategy, trial, subject) {
    const ranking = rankingOf(subject, strategy, trial);
    if (!ranking) return null;
    const all = trial.figures.map((_, at) => at);
    const places = [...ranking, ...all.filter((at) => !ranking.includes(at))];
    for (const [place, above] of ranking.entries()) {
      const better = places.slice(place + 1).find((at) => dominates(trial.figures[at]!, trial.figures[above]!));
      if (better !== undefined) {
        const isWanted = ranking.includes(better);
        return `${nameOf(above)} ranks above ${nameOf(better)}, which is as good in everything and better in something${isWanted ? '' : ' and is not wanted'}`;
      }
    }
    return null;
  },
});

/** As the host has it, before it shows the parts of a utility. */
const PARTS_SLACK = 2e-9;

const summed = aboutStrategy({
  name: 'parts',
  says: 'where it tells the parts of a utility, they are finite and have it as their sum',
  fault(strategy, trial) {
    if (!strategy.parts) return null;
    const utilities = utilitiesOf(strategy, trial);
    for (const [at, utility] of utilities.entries()) {
      if (utility === Number.NEGATIVE_INFINITY) continue;
      const parts = strategy.parts(candidatesOf(trial), at, trial.weights ?? undefined);
      const values = Object.values(parts);
      if (!values.every(Number.isFinite)) return `a part of ${nameOf(at)} is no finite number: ${shown(parts)}`;
      const sum = values.reduce((all, value) => all + value, 0);
      if (Math.abs(sum - utility) > PARTS_SLACK * Math.max(1, Math.abs(sum)))
        return `the parts of ${nameOf(at)} are ${shown(parts)}, together ${sum}; its utility is ${utility}`;
    }
    return null;
  },
});

/** What must hold of every strategy. The first ones are the plainest. */
export const STRATEGY_LAWS: readonly Law<Subject>[] = [
  options,
  form,
  fills,
  extremes,
  weighed,
  reads,
  deterministic,
  orderless,
  dominance,
  summed,
];
