import fc from 'fast-check';
import { figures, nameOf, rankingCases, weightedCases } from './candidates.ts';
import type { Law } from './law.ts';
import { rankingOf, type StrategySubject, strategyLaw } from './strategy.ts';

/** The last candidate is the one that is added. */
const withNewcomer = fc
  .tuple(rankingCases, figures)
  .map(([trial, more]) => ({ ...trial, figures: [...trial.figures, more] }));

const independent = strategyLaw({
  name: 'independent',
  says: 'adding a candidate does not reorder the others',
  isNote: true,
  trials: withNewcomer,
  fault(strategy, trial, subject) {
    const last = trial.figures.length - 1;
    const before = rankingOf(subject, strategy, { ...trial, figures: trial.figures.slice(0, -1) });
    const after = rankingOf(subject, strategy, trial)?.filter((at) => at !== last);
    if (!before || !after) return null;
    const names = (ranking: readonly number[]) => ranking.map(nameOf).join(', ') || 'nobody';
    return names(before) === names(after)
      ? null
      : `with ${nameOf(last)} the others rank ${names(after)}; without it ${names(before)}`;
  },
});

/** How much the weight of quality is increased. */
const MORE = 0.25;

const heeding = strategyLaw({
  name: 'heeds-weights',
  says: 'more weight on quality never gives a worse model, and more weight on cost never a more expensive one',
  isNote: true,
  trials: weightedCases,
  fault(strategy, trial, subject) {
    const share = trial.weights?.quality ?? 0;
    const raised = Math.min(1, share + MORE);
    const [low] = rankingOf(subject, strategy, trial) ?? [];
    const [high] = rankingOf(subject, strategy, { ...trial, weights: { quality: raised, cost: 1 - raised } }) ?? [];
    if (low === undefined || high === undefined) return null;
    const [one, other] = [trial.figures[low]!, trial.figures[high]!];
    if (other.q < one.q)
      return `with the quality weight ${raised} instead of ${share} the choice is ${nameOf(high)}, which is worse`;
    if (one.c > other.c)
      return `with the quality weight ${share} instead of ${raised} the choice is ${nameOf(low)}, which is more expensive`;
    return null;
  },
});

/** Observations about a strategy. Not every strategy promises what these observations check. */
export const STRATEGY_NOTES: readonly Law<StrategySubject>[] = [independent, heeding];
