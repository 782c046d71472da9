import { Elysia } from 'elysia';
import { FeedbackRequest } from '../core/feedback.ts';
import { compileCheck } from '../core/validation.ts';
import { type FeedbackGateway, giveFeedback } from '../gateway/feedback.ts';
import { FEEDBACK_REQUESTS } from './docs/request-examples.ts';
import { BODY_ERRORS, routeDocs } from './docs/route-docs.ts';
import type { RouteServices } from './route-services.ts';
import { Feedback } from './schemas/feedback.ts';

const check = compileCheck(FeedbackRequest);

interface FeedbackContext extends Pick<RouteServices, 'callerOf'> {
  readonly gateway: FeedbackGateway;
}

/** `POST /v1/feedback`: takes the score of an answer. */
export const feedbackRoutes = ({ gateway, callerOf }: FeedbackContext) =>
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
