import { defineStrategy, type LadderStrategy, Type } from 'signalbox/plugin';

/** The margins if the policy states none, as shares of good answers. */
interface Margins {
  readonly margin: number;
  readonly strong_margin: number;
}

const marginOptions = ({ margin, strong_margin }: Margins) => ({
  margin: Type.Number({
    minimum: 0,
    maximum: 1,
    default: margin,
    description: 'How far below the best quality the model for a usual request may be.',
  }),
  strong_margin: Type.Number({
    minimum: 0,
    maximum: 1,
    default: strong_margin,
    description: 'How far below the best quality the model for a hard request may be; at most `margin`.',
  }),
});

function marginsOf({ margin, strong_margin: strongMargin }: Margins): Pick<LadderStrategy, 'margin' | 'strongMargin'> {
  if (strongMargin > margin)
    throw new Error(
      `\`strong_margin\` is ${strongMargin}, above \`margin\`, ${margin}; state a \`strong_margin\` of at most ${margin}`,
    );
  return { margin, strongMargin };
}

/** The cheapest of the models that are nearly as good as the best, where a second of waiting costs something, too. */
export const auto = defineStrategy({
  name: 'auto',
  status: 'stable',
  options: Type.Object(
    {
      ...marginOptions({ margin: 0.03, strong_margin: 0.01 }),
      second_worth: Type.Number({
        minimum: 0,
        maximum: 1_000_000,
        default: 0.1,
        description: 'What a second of waiting counts as, in Credits.',
      }),
      step_cost: Type.Number({
        minimum: 1,
        maximum: 1_000_000,
        default: 3,
        description:
          'A model that is at least 0.01 better is taken instead, as long as it costs at most this many times as much. 1 takes it only if it costs no more.',
      }),
    },
    {
      additionalProperties: false,
      description: 'The cheapest model within a margin of the best quality, where each second of waiting counts, too.',
    },
  ),
  prepare: ({ second_worth: worth, step_cost: stepCost, ...margins }) => ({
    per: 'build',
    reason: worth === 0 ? 'costs least' : `costs least (a second counted as ${worth} Credits)`,
    ...marginsOf(margins),
    stepCost,
    score({ n, cost, latency }, out) {
      for (let i = 0; i < n; i++) out[i] = -cost[i]! - (worth * latency[i]!) / 1000;
    },
  }),
});

/** The cheapest model within a wide margin of the best quality. It never costs more than the choice of the selector `auto`. */
export const autoCheap = defineStrategy({
  name: 'auto-cheap',
  status: 'stable',
  options: Type.Object(marginOptions({ margin: 0.25, strong_margin: 0.03 }), {
    additionalProperties: false,
    description: 'The cheapest model within a wide margin of the best quality: never more expensive than `auto`.',
  }),
  prepare: (margins) => ({
    per: 'build',
    reason: 'costs least',
    ...marginsOf(margins),
    atMostAuto: 'cost',
    score({ n, cost }, out) {
      for (let i = 0; i < n; i++) out[i] = -cost[i]!;
    },
  }),
});

/** The fastest model within a margin of the best quality. It is never slower than the choice of the selector `auto`. */
export const autoFast = defineStrategy({
  name: 'auto-fast',
  status: 'stable',
  options: Type.Object(marginOptions({ margin: 0.08, strong_margin: 0.03 }), {
    additionalProperties: false,
    description: 'The fastest model within a margin of the best quality: never slower than `auto`.',
  }),
  prepare: (margins) => ({
    per: 'build',
    reason: 'answers soonest',
    ...marginsOf(margins),
    atMostAuto: 'latency',
    score({ n, latency }, out) {
      for (let i = 0; i < n; i++) out[i] = -latency[i]!;
    },
  }),
});
