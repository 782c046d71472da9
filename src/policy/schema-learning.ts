import { type Static, Type } from '@sinclair/typebox';
import { LEARNING_MODES } from '../core/learning-policy.ts';
import { closed, integer, number, oneOf, string } from './schema-parts.ts';

const share = (fallback: number, description: string) =>
  number({ minimum: 0, maximum: 1, default: fallback }, description);

const signal = (fallback: number, answer: string) =>
  share(fallback, `How many bad outcomes ${answer} counts as, 0 to 1; 0 or \`off\`: it is not looked for.`);

const SignalsText = closed(
  {
    schema: signal(1, 'an answer that does not fit the JSON Schema asked for'),
    tool_arguments: signal(1, "an answer that calls a tool with arguments which do not fit the tool's schema"),
    refusal: signal(0.5, 'a refusal'),
    empty: signal(0.5, 'an empty answer'),
    retry: signal(0.2, 'an answer after which the same key at once asks exactly the same again'),
  },
  {
    default: {},
    examples: [{ retry: 0 }],
    description:
      'What the gateway looks for in answers by itself; an answer without any of it counts as good. `off`: nothing.',
  },
);

const ExploreText = closed(
  {
    share: share(0.08, 'Share of requests whose model is drawn alike among all that take part.'),
    temperature: number(
      { minimum: 0.001, maximum: 10, default: 0.05 },
      'Of the other requests: how much less utility makes a model e (2.7) times less likely. The smaller, the more often the best is taken.',
    ),
    quality_margin: share(0.2, 'How far below the best quality, 0 to 1, a model may be and take part.'),
  },
  {
    examples: [{ share: 0.08 }],
    description:
      'Tries other models than the best now and then, of chats that leave the choice to a selector. Left out: never. `{}` takes the figures below.',
  },
);

export const LearningText = closed(
  {
    mode: oneOf(LEARNING_MODES, {
      default: 'off',
      examples: ['shadow'],
      means: {
        off: 'Quality is as declared, moved by the length of the question.',
        shadow: 'Learns, shows what it would decide, and decides nothing.',
        on: 'Learns, and decides by it.',
      },
      description:
        '`off`: quality is as declared, moved by the length of the question. `shadow`: what outcomes teach is computed and shown, and decides nothing. `on`: it decides. `learning: shadow` is short for this key alone.',
    }),
    estimator: string({ minLength: 1, default: 'learned' }, 'The estimator plugin that learns.'),
    options: Type.Record(Type.String(), Type.Unknown(), {
      default: {},
      examples: [{}],
      description: "The estimator's options, checked by its schema.",
    }),
    feedback_window_days: integer(
      { minimum: 1, maximum: 365, default: 7 },
      'Days after a decision in which its answer can be scored; what that needs is kept as long. Not above `records.retention_days`, and left out no longer than that.',
    ),
    feedback_weight: share(1, "How many outcomes a caller's score counts as, 0 to 1; 0: none is learnt from."),
    signals: SignalsText,
    influence_max: share(
      0.5,
      'The share of all that is learnt which one key may make up, 0 to 1, beyond an allowance; a key with more of the traffic may make up as much.',
    ),
    explore: Type.Optional(ExploreText),
  },
  { examples: [{ mode: 'shadow' }], description: 'How estimates of quality learn from what becomes of answers.' },
);
export type LearningText = Static<typeof LearningText>;
