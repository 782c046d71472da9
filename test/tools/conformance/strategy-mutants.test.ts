import { describe } from 'bun:test';
import { auto } from '../../../plugins/strategies/auto.ts';
import { weighted } from '../../../plugins/strategies/weighted.ts';
import type {
  CallerWeights,
  Candidates,
  LadderStrategy,
  RequestStrategy,
  StrategyPlugin,
} from '../../../src/contract/strategy.ts';
import { STRATEGY_LAWS, type StrategySubject } from '../../../src/tools/conformance/strategy.ts';
import { STRATEGY_NOTES } from '../../../src/tools/conformance/strategy-notes.ts';
import { host } from '../../../src/tools/plugin/gateway-parts.ts';
import { testMutants } from './support.ts';

const of = (plugin: StrategyPlugin): StrategySubject => ({ plugin, host });

/** The shipped strategy `weighted`, with a mistake. */
const wrong = (mistake: (real: RequestStrategy) => Partial<RequestStrategy>): StrategySubject =>
  of({
    ...weighted,
    prepare(options) {
      const real = weighted.prepare(options);
      return real.per === 'build' ? real : { ...real, ...mistake(real) };
    },
  });

/** The shipped strategy `auto`, with wrong figures. */
const wrongLadder = (mistake: Partial<LadderStrategy>): StrategySubject =>
  of({
    ...auto,
    prepare(options) {
      const real = auto.prepare({ margin: 0.03, strong_margin: 0.01, second_worth: 0.1, step_cost: 3, ...options });
      return real.per === 'build' ? { ...real, ...mistake } : real;
    },
  });

const refusing = (error: Error): StrategySubject =>
  of({
    ...weighted,
    prepare() {
      throw error;
    },
  });

type Utility = (at: number, candidates: Candidates, weights: CallerWeights) => number;

const EVEN: CallerWeights = { quality: 0.5, cost: 0.5 };

const scoring = (utility: Utility): StrategySubject =>
  wrong(() => ({
    parts: undefined,
    score(candidates, out, weights = EVEN) {
      for (let i = 0; i < candidates.n; i++) out[i] = utility(i, candidates, weights);
    },
  }));

let calls = 0;
const most = (column: Float64Array, n: number): number => Math.max(...column.subarray(0, n));

describe('strategy laws:', () => {
  testMutants([...STRATEGY_LAWS, ...STRATEGY_NOTES], of(weighted), {
    options: [
      ['refuses its own defaults', refusing(new Error('no'))],
      ['fails because of its options', refusing(new TypeError('undefined is not a function'))],
    ],
    form: [
      ['has a sentence as its reason', wrong(() => ({ reason: 'cheap: the cheapest\nof all' }))],
      ['has a name as its clause', wrongLadder({ reason: 'Cheap' })],
      ['has no margin', wrongLadder({ margin: Number.NaN })],
      ['has a wider margin for hard requests', wrongLadder({ strongMargin: 0.5 })],
      ['takes only cheaper steps', wrongLadder({ stepCost: 0.5 })],
    ],
    fills: [
      [
        'writes later',
        wrong(() => ({
          async score({ n }, out) {
            await null;
            out.fill(0, 0, n);
          },
        })),
      ],
      [
        'writes no utility for candidates that it does not like',
        wrong(() => ({
          score({ n, quality }, out) {
            for (let i = 0; i < n; i++) if (quality[i]! > 0.3) out[i] = quality[i]!;
          },
        })),
      ],
      [
        'adds to the earlier content',
        wrong(() => ({
          score({ n, quality }, out) {
            for (let i = 0; i < n; i++) out[i] = (out[i] || 0) + quality[i]!;
          },
        })),
      ],
      [
        'fills the whole array',
        wrong(() => ({
          score({ quality }, out) {
            for (let i = 0; i < out.length; i++) out[i] = quality[i]!;
          },
        })),
      ],
    ],
    extremes: [['divides by the cost', scoring((i, { quality, cost }) => quality[i]! / cost[i]!)]],
    weights: [['divides by a weight', scoring((i, { quality }, { cost }) => quality[i]! / cost)]],
    inputs: [
      [
        'sorts its arguments',
        wrong((real) => ({
          score(candidates, out) {
            candidates.cost.sort();
            real.score(candidates, out);
          },
        })),
      ],
    ],
    deterministic: [
      ['counts its calls', scoring((i, { quality }) => (calls++ % 3 === 0 ? quality[i]! : -quality[i]!))],
      ['throws dice', scoring((i, { quality }) => quality[i]! + Math.random() / 1e6)],
      ['uses the clock', scoring((i, { quality }) => (new Date().getHours() < 24 ? quality[i]! : 0))],
      ['reads the environment', scoring((i, { quality }) => (process.env.CHEAP === '1' ? 0 : quality[i]!))],
    ],
    order: [['prefers candidates that come first', scoring((i, { quality }) => quality[i]! - i / 1_000)]],
    dominance: [
      ['prefers dear models', scoring((i, { quality, cost }) => quality[i]! + cost[i]! / 10)],
      ['prefers slow models', scoring((i, { quality, latency }) => quality[i]! + latency[i]! / 1e6)],
      [
        'rejects cheap candidates',
        scoring((i, { quality, cost }) => (cost[i]! < 1 ? Number.NEGATIVE_INFINITY : quality[i]!)),
      ],
    ],
    parts: [['forgets a part', wrong(() => ({ parts: ({ quality }, at) => ({ quality: quality[at]! }) }))]],
    independent: [
      [
        'compares with the most expensive candidate',
        scoring((i, { n, quality, cost }) => quality[i]! - cost[i]! / (1 + most(cost, n))),
      ],
    ],
    'heeds-weights': [
      ['confuses two weights', scoring((i, { quality, cost }, w) => w.cost * quality[i]! - w.quality * cost[i]!)],
    ],
  });
});
