import { type Static, Type } from '@sinclair/typebox';

/** A caller's rating of an answer. */
export const FeedbackRequest = Type.Object(
  {
    decision_id: Type.String({
      pattern: '^dec_[0-9a-z]{11}$',
      description: 'The ID of the decision, from `platform.decision_id` or the header `x-signalbox-decision-id`.',
      examples: ['dec_0a4x1wm3zk0'],
    }),
    score: Type.Number({
      minimum: 0,
      maximum: 1,
      description: 'The quality of the answer, from 0 (useless) to 1 (it did what was requested).',
    }),
    label: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$',
        description: 'Your name for the source of the score, such as `thumbs` or `unit-tests`. Signalbox stores it.',
        examples: ['unit-tests'],
      }),
    ),
  },
  { additionalProperties: false, $id: 'FeedbackRequest' },
);
export type FeedbackRequest = Static<typeof FeedbackRequest>;
