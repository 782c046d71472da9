import { type Static, Type } from '@sinclair/typebox';

/** A caller's rating of an answer. */
export const FeedbackRequest = Type.Object(
  {
    decision_id: Type.String({
      pattern: '^dec_[0-9a-z]{11}$',
      description: 'Which decision: as `platform.decision_id` and the header `x-signalbox-decision-id` name it.',
      examples: ['dec_0a4x1wm3zk0'],
    }),
    score: Type.Number({
      minimum: 0,
      maximum: 1,
      description: 'How good the answer was: 1 for one that did what was asked, 0 for one that was of no use.',
    }),
    label: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$',
        description: 'Your own word for where the score comes from, such as `thumbs` or `unit-tests`. It is kept.',
        examples: ['unit-tests'],
      }),
    ),
  },
  { additionalProperties: false, $id: 'FeedbackRequest' },
);
export type FeedbackRequest = Static<typeof FeedbackRequest>;
