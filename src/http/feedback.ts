import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { FeedbackRequest } from '../core/feedback.ts';
import { compileCheck } from '../core/validation.ts';
import { type FeedbackGateway, giveFeedback } from '../gateway/feedback.ts';
import { decisionId, modelId, named, orNull, word } from '../surface/schemas/parts.ts';
import { FEEDBACK_REQUESTS } from './docs/request-examples.ts';
import { BODY_ERRORS, routeDocs } from './docs/route-docs.ts';
import type { RouteServices } from './route-services.ts';

export const Feedback = named('Feedback', 'What became of a score.', {
  object: Type.Literal('feedback', { description: 'Always `feedback`.' }),
  decision_id: decisionId,
  model: modelId('The model that is scored: the one that answered, or was recommended.'),
  task: Type.String({ description: 'The task type that the request was taken for.', examples: ['coding'] }),
  score: Type.Number({ minimum: 0, maximum: 1, description: 'As it was sent.', examples: [0.5] }),
  label: orNull(
    Type.String({ examples: ['unit-tests'] }),
    'As it is kept: of a score that is repeated, the first; null for none.',
  ),
  result: word(
    ['learnt', 'kept', 'repeated'],
    '`learnt`: it counts. `kept`: it is written down and counts for nothing, since this key has its share of what is learnt, or the policy counts no scores. `repeated`: this score was there already.',
  ),
  weight: Type.Number({ minimum: 0, maximum: 1, description: 'As how many outcomes it counts.', examples: [1] }),
});

const check = compileCheck(FeedbackRequest);

interface FeedbackServices extends Pick<RouteServices, 'callerOf'> {
  readonly gateway: FeedbackGateway;
}

/** `POST /v1/feedback`: takes the score of an answer. */
export const feedbackRoutes = ({ gateway, callerOf }: FeedbackServices) =>
  new Elysia({ name: 'feedback' }).post(
    '/v1/feedback',
    async ({ body, request }) => {
      const { decision, model, task, score, label, result, weight } = await giveFeedback(
        gateway,
        body,
        callerOf(request),
      );
      return { object: 'feedback', decision_id: decision, model, task, score, label, result, weight };
    },
    {
      transform: ({ body }) => check(body),
      body: FeedbackRequest,
      ...routeDocs({
        access: 'key',
        counts: true,
        summary: 'Score an answer',
        description:
          'How good the answer of a decision was, or the model that was recommended. Later requests of its kind are routed by it, where the policy learns. For the key that made the decision, once, within `learning.feedback_window_days`; the same score again changes nothing.',
        tag: 'decisions',
        answer: { schema: Feedback, description: 'What became of the score.' },
        requests: FEEDBACK_REQUESTS,
        errorField: 'score',
        errors: [
          ...BODY_ERRORS,
          'unknown_field',
          'not_found',
          'learning_off',
          'nothing_to_score',
          'feedback_conflict',
          'feedback_window_over',
        ],
      }),
    },
  );
