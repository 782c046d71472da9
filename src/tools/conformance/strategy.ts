import fc from 'fast-check';
import type { CallerWeights, PreparedStrategy, StrategyPlugin } from '../../contract/strategy.ts';
import { deepFreeze } from '../../policy/report/freeze.ts';
import { ladderFault } from '../../policy/report/ladder-fault.ts';
import {
  candidatesOf,
  describeRankingCase,
  dominates,
  extremeRankingCases,
  nameOf,
  type RankingCase,
  rankingCases,
  usedBuffer,
  weightedCases,
} from './candidates.ts';
import type { ConformanceHost } from './host.ts';
import { isEqual, type Law, shortJson } from './law.ts';
import { optionsFrom, pluginOptionsLaw, preparedLaws } from './schema-values.ts';
import { reachedFault, runSealed } from './sealed.ts';

export interface StrategySubject {
  readonly plugin: StrategyPlugin;
  readonly host: ConformanceHost;
}

type Subject = StrategySubject;

const lawOf = preparedLaws<Subject, PreparedStrategy>({
  noun: 'options',
  all: ({ plugin }) => optionsFrom(plugin.options),
  prepare: ({ plugin }, options) => plugin.prepare(options),
});

type StrategyLawText = Omit<Parameters<typeof lawOf<RankingCase>>[0], 'cases' | 'describe'> & {
  readonly trials?: fc.Arbitrary<RankingCase>;
};

/** Makes a law about strategies. The law tries any candidates, unless it names its own candidates. */
export const strategyLaw = ({ trials = rankingCases, ...text }: StrategyLawText): Law<Subject> =>
  lawOf({ ...text, cases: () => trials, describe: describeRankingCase });

/** Returns the utilities, written into a buffer with old values. */
function scoreOver(strategy: PreparedStrategy, trial: RankingCase, left = Number.NaN): Float64Array {
  const out = usedBuffer(trial, left);
  strategy.score(candidatesOf(trial), out, trial.weights ?? undefined);
  return out;
}

const utilitiesOf = (strategy: PreparedStrategy, trial: RankingCase): number[] => [
  ...scoreOver(strategy, trial).subarray(0, trial.figures.length),
];

/** The second half of `route_reason`. */
const REASON = /^[a-z0-9][a-z0-9 _-]{0,39}$/i;
/** The clause of a strategy that orders models once, after the name of a model. */
const CLAUSE = /^[a-z][^\n]{0,79}$/;

function utilityFault(utility: Float64Array, n: number): string | null {
  for (let at = 0; at < n; at++) {
    const value = utility[at]!;
    if (Number.isNaN(value)) return `the utility of ${nameOf(at)} is NaN, or was not written`;
    if (value === Number.POSITIVE_INFINITY) return `the utility of ${nameOf(at)} is Infinity`;
  }
  return null;
}

/** Compares with the tolerance of the host, relative to the values. */
const isClose = (a: number, b: number): boolean =>
  a === b || Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a), Math.abs(b));

/** Returns the ranking of the host, best first; null if the host cannot use the utilities. */
export function rankingOf({ host }: Subject, strategy: PreparedStrategy, trial: RankingCase): readonly number[] | null {
  const into: number[] = [];
  const utility = scoreOver(strategy, trial);
  const { faulty } = host.rank(candidatesOf(trial), utility, trial.figures.length, into);
  return faulty ? null : into;
}

/** The tolerance of the host when it shows the parts of a utility. */
const PARTS_SLACK = 2e-9;

/** The laws for every strategy, the simplest first. */
export const STRATEGY_LAWS: readonly Law<Subject>[] = [
  pluginOptionsLaw<Subject>(({ plugin }, given) => plugin.prepare(given)),
  strategyLaw({
    name: 'form',
    says: '`prepare` returns a `reason` of a few words and `score`, and margins if it orders models once',
    fault(strategy) {
      const { reason, score } = strategy;
      const form = strategy.per === 'build' ? CLAUSE : REASON;
      if (typeof reason !== 'string' || !form.test(reason))
        return `the reason is ${shortJson(reason)}; it may have at most ${strategy.per === 'build' ? '80 characters' : '40 letters, digits, spaces and dashes'}`;
      if (typeof score !== 'function') return '`prepare` returns no `score`';
      if (strategy.per === 'build') return ladderFault(strategy);
      const { parts } = strategy;
      return parts === undefined || typeof parts === 'function' ? null : '`parts` is not a function';
    },
  }),
  strategyLaw({
    name: 'fills',
    says: '`score` overwrites `out[0..n)` with finite numbers or -Infinity, and writes nothing after it',
    fault(strategy, trial) {
      const n = trial.figures.length;
      const given: unknown = strategy.score(candidatesOf(trial), usedBuffer(trial, 0), trial.weights ?? undefined);
      if (given instanceof Promise)
        return '`score` returns a promise, but the host does not wait: `score` must write before it returns';
      const [first, second] = [scoreOver(strategy, trial), scoreOver(strategy, trial, 12_345)];
      const fault = utilityFault(first, n);
      if (fault) return fault;
      for (let at = 0; at < n; at++) {
        if (!Object.is(first[at], second[at]))
          return `the utility of ${nameOf(at)} depends on the earlier content of \`out\``;
      }
      const isBehind = second.subarray(n).some((value) => value !== 12_345);
      return isBehind ? '`score` writes after `out[n - 1]`: loop to `n`, not to the length of an array' : null;
    },
  }),
  strategyLaw({
    name: 'extremes',
    says: '`score` also works with no candidates, extreme numbers and equal candidates',
    trials: extremeRankingCases,
    fault: (strategy, trial) => utilityFault(scoreOver(strategy, trial), trial.figures.length),
  }),
  strategyLaw({
    name: 'weights',
    says: 'utilities are numbers with and without a caller’s weights',
    trials: weightedCases,
    fault(strategy, trial) {
      const n = trial.figures.length;
      return (
        utilityFault(scoreOver(strategy, trial), n) ?? utilityFault(scoreOver(strategy, { ...trial, weights: null }), n)
      );
    },
  }),
  strategyLaw({
    name: 'inputs',
    says: '`score` does not change its arguments',
    fault(strategy, trial) {
      const [given, before] = [candidatesOf(trial), candidatesOf(trial)];
      const own: CallerWeights | undefined = trial.weights ? deepFreeze({ ...trial.weights }) : undefined;
      strategy.score(Object.freeze(given), usedBuffer(trial, 0), own);
      const changed = (['quality', 'cost', 'latency'] as const).find((name) => !isEqual(given[name], before[name]));
      return changed ? `\`score\` writes into \`${changed}\`` : null;
    },
  }),
  lawOf<{ readonly trial: RankingCase; readonly between: RankingCase }>({
    name: 'deterministic',
    says: 'the same candidates get the same utilities, whatever was scored before, independent of clock, randomness and environment',
    cases: () => fc.record({ trial: rankingCases, between: rankingCases }),
    fault(strategy, { trial, between }, { plugin }, options) {
      const { value, reached } = runSealed(() => {
        const first = utilitiesOf(strategy, trial);
        utilitiesOf(strategy, between);
        const again = utilitiesOf(strategy, trial);
        return { first, again, fresh: utilitiesOf(plugin.prepare(options), trial) };
      });
      const [first, again, fresh] = [value.first, value.again, value.fresh].map(shortJson);
      if (reached.length > 0) return reachedFault(reached);
      if (!isEqual(value.first, value.again)) return `the first scores are ${first}, the second ${again}`;
      return isEqual(value.first, value.fresh) ? null : `prepared again, the scores are ${fresh} instead of ${first}`;
    },
    describe: ({ trial, between }) => `${describeRankingCase(trial)}; between: ${describeRankingCase(between)}`,
  }),
  strategyLaw({
    name: 'order',
    says: 'the order of the candidates does not matter',
    fault(strategy, trial) {
      const forth = utilitiesOf(strategy, trial);
      const back = utilitiesOf(strategy, { ...trial, figures: trial.figures.toReversed() }).reverse();
      const at = forth.findIndex((value, i) => !isClose(value, back[i]!));
      return at < 0
        ? null
        : `the utility of ${nameOf(at)} is ${forth[at]}, and ${back[at]} with the candidates in reverse order`;
    },
  }),
  strategyLaw({
    name: 'dominance',
    says: 'a candidate that is at least as good in quality, cost and latency, and better in one, is never ranked lower',
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
  }),
  strategyLaw({
    name: 'parts',
    says: 'the `parts` of a utility are finite, and their sum is the utility',
    fault(strategy, trial) {
      if (strategy.per === 'build' || !strategy.parts) return null;
      for (const [at, utility] of utilitiesOf(strategy, trial).entries()) {
        if (utility === Number.NEGATIVE_INFINITY) continue;
        const parts = strategy.parts(candidatesOf(trial), at, trial.weights ?? undefined);
        const values = Object.values(parts);
        if (!values.every(Number.isFinite))
          return `a part of ${nameOf(at)} is not a finite number: ${shortJson(parts)}`;
        const sum = values.reduce((all, value) => all + value, 0);
        if (Math.abs(sum - utility) > PARTS_SLACK * Math.max(1, Math.abs(sum)))
          return `the parts of ${nameOf(at)} are ${shortJson(parts)} with the sum ${sum}; the utility is ${utility}`;
      }
      return null;
    },
  }),
];
