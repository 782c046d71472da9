import { Elysia } from 'elysia';
import { BODY_ERRORS } from '../admin/kit/operation.ts';
import { FeedbackRequest } from '../core/decision/feedback.ts';
import { decisionId, modelId } from '../core/decision/shared-fields.ts';
import { always, named, share, text, textOrNull, word } from '../core/define/fields.ts';
import { type FeedbackGateway, giveFeedback } from '../gateway/request/feedback.ts';
import { FEEDBACK_REQUESTS } from './docs/request-examples.ts';
import { bodyIn } from './kit/body.ts';
import { routeDocs } from './kit/route-docs.ts';
import type { RouteServices } from './kit/route-services.ts';

export const Feedback = named('Feedback', 'The result of a score.', {
  object: always('feedback'),
  decision_id: decisionId,
  model: modelId('The scored model: the model that answered, or that was recommended.'),
  task: text('The task type of the request.', 'coding'),
  score: share('The score that you sent.', 0.5),
  label: textOrNull(
    'The stored label; null for none. For a repeated score, it is the label of the first score.',
    'unit-tests',
  ),
  result: word(['learnt', 'repeated'], '`learnt`: the score counts. `repeated`: the decision already had this score.'),
  weight: share('The weight of the score: always 1.', 1),
});

interface FeedbackServices extends Pick<RouteServices, 'callerOf'> {
  readonly gateway: FeedbackGateway;
}

/** `POST /v1/feedback`: stores the score of an answer. */
export const feedbackRoutes = ({ gateway, callerOf }: FeedbackServices) =>
  new Elysia({ name: 'feedback' }).post(
    '/v1/feedback',
    async ({ body, request }) => {
      const { decision, ...scored } = await giveFeedback(gateway, body, callerOf(request));
      return { object: 'feedback', decision_id: decision, ...scored, weight: 1 };
    },
    {
      ...bodyIn(FeedbackRequest),
      ...routeDocs({
        access: 'feedback.give',
        counts: true,
        summary: 'Score an answer',
        description:
          'Scores the answer of a decision, or a recommended model. `GET /admin/learning` has the mean of the scores by model and task. Scores change no decision. Only the key that made the decision can score it, once, while its record is kept (`records.retention_days`). Repeating the same score changes nothing. A running answer cannot be scored: send the score when it has ended.',
        tag: 'Decisions',
        answer: { schema: Feedback, description: 'The result of the score.' },
        requests: FEEDBACK_REQUESTS,
        errorField: 'score',
        errors: [
          ...BODY_ERRORS,
          'unknown_field',
          'not_found',
          'in_flight',
          'learning_off',
          'nothing_to_score',
          'feedback_conflict',
          'feedback_window_over',
        ],
      }),
    },
  );
