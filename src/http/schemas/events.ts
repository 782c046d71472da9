import { Type } from '@sinclair/typebox';
import { DecisionSummary } from '../../admin/decision-list.ts';
import { EndpointStatus } from '../../admin/status.ts';
import { HEALTH } from '../../core/decision/readings.ts';
import { decisionId, modelId, policyRevision } from '../../core/decision/shared-fields.ts';
import * as field from '../../core/define/fields.ts';
import { OPERATION_NAMES } from '../../core/kinds/operations.ts';

/** The kinds of events in the order of their documentation. */
const EVENT_KINDS = ['decision', 'alert', 'policy', 'endpoint', 'reset'] as const;

const DecisionEvent = field.named('DecisionEvent', 'A decision whose request has ended.', {
  id: decisionId,
  time: field.moment('When the decision was recorded.'),
  ...Type.Pick(DecisionSummary, ['key_id', 'key_name', 'team_id', 'provider', 'task', 'status']).properties,
  operation: field.word(OPERATION_NAMES, 'The operation of the request.'),
  model: modelId('The model that was tried last, or the choice if no model was tried.'),
  ...Type.Pick(DecisionSummary, ['error', 'credits_consumed', 'charged_usd', 'total_ms']).properties,
});

const AlertEvent = field.named('AlertEvent', 'An alert that is sent to people.', {
  id: field.text('The ID of the alert, as in `GET /admin/alerts`.', 'alert_0a4x1wm3zk0'),
  time: field.moment('When the alert was created.'),
  type: field.word(['alert', 'recovery'], '`recovery`: the reason for the alert is over.'),
  rule: field.text('The name of the rule.', 'budgets'),
  on: field.text('The thing that the rule watches.', 'budget_share'),
  text: field.text(
    'The whole text.',
    'Signalbox, budgets: Budget team-month of search has spent 82 % of its 50,000 Credits.',
  ),
});

const PolicyEvent = field.named('PolicyEvent', 'A policy that became active, or a reload that was refused.', {
  time: field.moment('When the reload ended.'),
  result: field.word(['applied', 'refused'], 'With `refused`, the previous policy stays active.', 'applied'),
  revision: policyRevision,
  message: field.text('One sentence.', 'The policy is active.'),
  errors: field.count('The number of mistakes in a refused policy.', 0),
});

const EndpointEvent = field.named('EndpointEvent', 'An endpoint whose state changed.', {
  time: field.moment('When it changed.'),
  ...Type.Pick(EndpointStatus, ['provider', 'model', 'upstream']).properties,
  from: field.word(Object.keys(HEALTH), 'Its state before.', 'healthy'),
  to: field.word(Object.keys(HEALTH), 'Its state now.', 'ejected'),
  why: field.textOrNull('The reason; null for a change to `healthy`.', '5 failures in a row'),
});

const ResetEvent = field.named('ResetEvent', 'Events may be missing before this one: read the lists again.', {
  time: field.moment('When the stream began.'),
});

export const FeedEvent = field.named('FeedEvent', 'One event of the feed, by its name in the stream.', {
  event: field.word(EVENT_KINDS, 'The name of the event, in its line `event:`.', 'decision'),
  data: Type.Union([DecisionEvent, AlertEvent, PolicyEvent, EndpointEvent, ResetEvent], {
    description: 'The JSON in its line `data:`.',
  }),
});
