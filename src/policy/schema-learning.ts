import { type Static, Type } from '@sinclair/typebox';
import type { LearningMode } from '../core/learning-policy.ts';
import { closed, integer, number, oneOfExplained, string } from './schema-parts.ts';

const share = (fallback: number, description: string) =>
  number({ minimum: 0, maximum: 1, default: fallback }, description);

const ExploreText = closed(
  'Sometimes tries other models than the best where a selector chooses. Default: never; `{}` takes the defaults below.',
  {
    share: share(0.08, 'Share of requests whose model is drawn evenly among all that take part.'),
    temperature: number(
      { minimum: 0.001, maximum: 10, default: 0.05 },
      'Of the other requests: how much less utility makes a model e (2.7) times less likely. The smaller, the more often the best is taken.',
    ),
    quality_margin: share(0.2, 'How far below the best quality a model may be and take part.'),
  },
  { examples: [{ share: 0.08 }] },
);

const LEARNING_MODE_MEANINGS: Readonly<Record<LearningMode, string>> = {
  off: 'Quality is as declared, corrected by the length of the question.',
  shadow: 'Learns, and shows the effect in explanations.',
  on: 'Learns, and decides by it.',
};

export const LearningText = closed(
  'How estimates of quality learn from outcomes.',
  {
    mode: oneOfExplained({
      means: LEARNING_MODE_MEANINGS,
      default: 'off',
      examples: ['shadow'],
      description:
        '`off`: quality as declared, corrected by question length. `shadow`: learns and shows the effect. `on`: decides by it. Short form: `learning: shadow`.',
    }),
    estimator: string({ minLength: 1, default: 'learned' }, 'The estimator plugin that learns.'),
    options: Type.Record(Type.String(), Type.Unknown(), {
      default: {},
      examples: [{}],
      description: "The estimator's options, checked by its schema.",
    }),
    feedback_window_days: integer(
      { minimum: 1, maximum: 365, default: 7 },
      'Days in which a decision can be scored, at most `records.retention_days`.',
    ),
    feedback_weight: share(1, 'Outcomes that a caller’s score counts as, 0 to 1; 0 learns from none.'),
    signals: Type.Optional(
      Type.Unknown({
        examples: ['off'],
        description: 'Without effect: Signalbox no longer checks answers for signs of failure. Remove it.',
      }),
    ),
    influence_max: share(
      0.5,
      'The share of all that is learnt which one key may make up, 0 to 1, beyond an allowance; a key with more of the traffic may make up as much.',
    ),
    explore: Type.Optional(ExploreText),
  },
  { examples: [{ mode: 'shadow' }] },
);
export type LearningText = Static<typeof LearningText>;
