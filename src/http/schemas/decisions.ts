import { Type } from '@sinclair/typebox';
import { RECORD_STATUSES } from '../../core/decision-record.ts';
import { OPERATION_NAMES } from '../../core/operation.ts';
import { ERROR_CODES } from '../../surface/openai-chat/error-schema.ts';
import { decisionId, listOf, modelId, named, orNull, word } from '../../surface/schemas/parts.ts';

const texts = (description: string, example: Readonly<Record<string, string>>) =>
  orNull(Type.Record(Type.String(), Type.String()), description, example);
const ofOutcome = 'Null for a recommendation.';

const DecisionSummary = named(
  'DecisionSummary',
  'A decision in a list. All but the first fields are null if its record is unreadable.',
  {
    id: decisionId,
    object: Type.Literal('decision.summary', { description: 'Always `decision.summary`.' }),
    created: orNull(Type.Integer({ examples: [1_793_000_000] }), 'When it was written. Unix time in seconds.'),
    key_id: Type.String({ description: 'The key that asked, or a wallet’s address.', examples: ['k7mw2pq9x4ta'] }),
    operation: word(OPERATION_NAMES, 'The operation that was asked for.'),
    status: word(RECORD_STATUSES, 'How its execution ended; `recommended` for a route query, which executes nothing.'),
    model: modelId('The model that was tried last, or the choice where none was tried.'),
    task: Type.String({ description: 'The task type of the request.', examples: ['coding'] }),
    selector: orNull(Type.String({ examples: ['auto'] }), '`model` of the request; `pinned` where it named one model.'),
    stream: orNull(Type.Boolean(), 'Whether a stream was asked for; null in records of version 0.1.', true),
    labels: texts('The labels of the key at the time; null in records of version 0.1.', { team: 'search' }),
    metadata: texts('The `metadata` that the policy’s `records.metadata` lists, redacted.', {}),
    route_reason: orNull(Type.String({ examples: ['auto:balanced'] }), 'Why this model was chosen.'),
    policy_revision: orNull(Type.String(), 'The policy in force when the decision was made.', '95f1a7d5f908027b'),
    error: orNull(word(ERROR_CODES, 'A code.'), 'The error that the caller received; null without one.'),
    attempts: orNull(Type.Integer(), `Attempts at endpoints. ${ofOutcome}`, 1),
    credits_consumed: orNull(Type.Number(), `Charged for the request. In Credits. ${ofOutcome}`, 0.0123),
    cost_saved_credits: orNull(
      Type.Number(),
      `Against the baseline model; negative if the choice cost more. In Credits. ${ofOutcome}`,
      0.0456,
    ),
    first_part_ms: orNull(Type.Integer(), 'From admission to the first content, in ms; null if none came.', 312),
    total_ms: orNull(Type.Integer(), `From admission to the end, in ms. ${ofOutcome}`, 2_149),
  },
);

export const DecisionList = named('DecisionList', 'Decisions, the newest first.', {
  ...listOf(DecisionSummary),
  has_more: Type.Boolean({ description: 'Whether older decisions match: ask again with `after`.' }),
});
