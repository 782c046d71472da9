import { Type } from '@sinclair/typebox';
import { ERROR_CODES } from '../../core/api/error-schema.ts';
import * as field from '../../core/api/parts.ts';
import { RECORD_STATUSES } from '../../core/decision-record.ts';
import { OPERATION_NAMES } from '../../core/operation.ts';
import { HEALTH } from '../../core/readings.ts';

/** Kinds of events, in the order of their documentation. */
const EVENT_KINDS = ['decision', 'alert', 'policy', 'endpoint', 'reset'] as const;

const DecisionEvent = field.named('DecisionEvent', 'A decision whose request has ended.', {
  id: field.decisionId,
  time: field.moment('When its record was made.'),
  key_id: field.textOrNull(
    'The ID of the key that made the request, or the address of a wallet; null for a key with the scope `report`.',
    'k7mw2pq9x4ta',
  ),
  key_name: field.textOrNull('The name of that key; null where it has none.', 'search'),
  team_id: field.textOrNull('ID of the team that the key belonged to; null for none.'),
  operation: field.word(OPERATION_NAMES, 'The operation of the request.'),
  model: field.modelId('The model that was tried last, or the choice where none was tried.'),
  provider: field.textOrNull('The provider that was tried last; null for none.', 'openai'),
  task: field.text('The task type of the request.', 'coding'),
  status: field.word(RECORD_STATUSES, 'How its execution ended; `recommended` for a route query.'),
  error: field.orNull(field.word(ERROR_CODES, 'A code.'), 'The error that the caller received; null without one.'),
  credits_consumed: field.figureOrNull('Charged, in Credits; null for a recommendation.', 0.0123),
  charged_usd: field.textOrNull('The same as `credits_consumed`, in USD; null for a recommendation.', '0.0000123'),
  total_ms: field.wholeOrNull('From admission to the end, in ms; null for a recommendation.', 2_149),
});

const AlertEvent = field.named('AlertEvent', 'An alert that is sent to people.', {
  id: field.text('Names the alert, as `GET /admin/alerts` does.', 'alert_0a4x1wm3zk0'),
  time: field.moment('When it was made.'),
  type: field.word(['alert', 'recovery'], '`recovery`: what it tells of is over.'),
  rule: field.text('Name of the rule.', 'budgets'),
  on: field.text('What the rule watches.', 'budget_share'),
  text: field.text(
    'The whole text.',
    'Signalbox, budgets: Budget team-month of search has spent 82 % of its 50,000 Credits.',
  ),
});

const PolicyEvent = field.named('PolicyEvent', 'A policy that came into force, or a reload that was refused.', {
  time: field.moment('When the reload ended.'),
  result: field.word(['applied', 'refused'], 'With `refused`, the policy before it stays in force.', 'applied'),
  revision: field.policyRevision,
  message: field.text('One sentence.', 'The policy is in force.'),
  errors: field.count('Mistakes of a refused one.', 0),
});

const EndpointEvent = field.named('EndpointEvent', 'An endpoint whose state changed.', {
  time: field.moment('When it changed.'),
  provider: field.text('Name of the provider in the policy.', 'openai'),
  model: field.text('ID of the model in the policy.', 'gpt-6-luna'),
  upstream: field.text('The provider’s name for the model.', 'gpt-6-luna-2026-09-01'),
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
