import { Type } from '@sinclair/typebox';
import { ERROR_CODES } from '../core/api/error-schema.ts';
import * as parts from '../core/api/parts.ts';
import { RECORD_STATUSES } from '../core/decision-record.ts';
import { OPERATION_NAMES } from '../core/operation.ts';
import * as f from './kit/fields.ts';

const texts = (description: string, example: Readonly<Record<string, string>>) =>
  f.orNull(Type.Record(Type.String(), Type.String()), description, example);
/** Whose request it was. */
export const ofKey = {
  key_id: f.orNull(
    f.text(
      'The ID of the key that made the request, or the address of a wallet; null for a key with the scope `report`.',
      'k7mw2pq9x4ta',
    ),
  ),
  key_name: f.orNull(f.text('The name of that key, or the address; null where it has none.', 'search')),
  labels: texts('The labels of the key at the time; null in records of version 0.1.', { team: 'search' }),
  team_id: f.as('team', f.orNull(f.text('ID of the team that the key belonged to; null for none.'))),
  user_id: f.as(
    'user',
    f.orNull(f.text('ID of the user that the key belonged to; null for none, and where reports do not name it.')),
  ),
};

const orNoAnswer = (text: string) => `${text} Null for a recommendation.`;

export const DecisionSummary = f.named(
  'DecisionSummary',
  'A decision in a list. All but the first fields are null if its record is unreadable.',
  {
    id: parts.decisionId,
    object: f.always('decision.summary'),
    created: parts.wholeOrNull('When it was written. Unix time in seconds.', 1_793_000_000),
    time: f.orNull(f.moment('The same as `created`, to the millisecond.')),
    ...ofKey,
    operation: f.word(OPERATION_NAMES, 'The operation of the request.'),
    status: f.word(
      RECORD_STATUSES,
      'How its execution ended; `recommended` for a route query, which executes nothing.',
    ),
    model: parts.modelId('The model that was tried last, or the choice where none was tried.'),
    task: f.text('The task type of the request.', 'coding'),
    provider: f.orNull(f.text('The provider that was tried last; null for none.', 'openai')),
    selector: f.orNull(f.text('`model` of the request; `pinned` where it named one model.', 'auto')),
    stream: f.orNull(f.flag('Whether the request asked for a stream; null in records of version 0.1.', true)),
    metadata: texts('The `metadata` that the policy’s `records.metadata` lists, redacted.', {}),
    session: f.orNull(f.text('The session that the request names; null for none, and where reports do not name it.')),
    route_reason: f.as('reason', f.orNull(f.text('Why this model was chosen.', 'auto:balanced'))),
    policy_revision: f.as(
      'revision',
      f.orNull(f.text('The policy in force when the decision was made.', '95f1a7d5f908027b')),
    ),
    error: f.orNull(f.word(ERROR_CODES, 'A code.'), 'The error that the caller received; null without one.'),
    attempts: parts.wholeOrNull(orNoAnswer('Attempts at endpoints.'), 1),
    credits_consumed: f.as(
      'charged',
      f.orNull(f.credits('Charged for the request.', 0.0123), orNoAnswer('Charged for the request. In Credits.')),
    ),
    cost_saved_credits: f.as(
      'saved',
      f.orNull(
        f.credits('Against the baseline model.', 0.0456),
        orNoAnswer('Against the baseline model; negative if the choice cost more. In Credits.'),
      ),
    ),
    charged_usd: f.as('charged', f.orNull(f.usd('The same as `credits_consumed`.', '0.0000123'))),
    saved_usd: f.as('saved', f.orNull(f.usd('The same as `cost_saved_credits`.', '0.0000456'))),
    input_tokens: parts.wholeOrNull('Input tokens of the answer; null without one.', 1_204),
    output_tokens: parts.wholeOrNull('Output tokens of the answer, hidden reasoning included; null without one.', 318),
    first_part_ms: parts.wholeOrNull('From admission to the first content, in ms; null if none came.', 312),
    total_ms: parts.wholeOrNull(orNoAnswer('From admission to the end, in ms.'), 2_149),
  },
);

export const DecisionList = f.named('DecisionList', 'Decisions, the newest first.', {
  object: f.always('list'),
  data: f.list(DecisionSummary, 'The newest first.'),
  has_more: f.flag(
    'Whether older decisions may match. To get them, repeat the request with `next_after` as `after`. A page can have fewer decisions than its limit, or none, and go on: a page looks at a bounded number of decisions.',
  ),
  next_after: f.orNull(f.text('The value of `after` for the next page; null for none.', 'dec_0a4x1wm3zk0')),
});

export const KeptContent = f.named('KeptContent', 'The stored text of one request and its answer.', {
  decision_id: f.as('decision', parts.decisionId),
  object: f.always('content'),
  prompt: f.orNull(
    f.list(Type.Unknown(), 'The messages.', { examples: [[{ role: 'user', content: 'Write to [email].' }]] }),
    'The messages, without media and with the kinds of text that the policy lists redacted. Null if prompts are not stored.',
  ),
  answer: f.orNull(
    f.list(Type.Unknown(), 'The choices.', { examples: [[{ index: 0, content: 'Dear [email], …' }]] }),
    'The text that the model wrote, by choice. Null if answers are not stored.',
  ),
  is_cut: f.flag('True if a text was longer than the stored maximum.'),
  kept_until: f.as('until', f.moment('When it is deleted.', '2026-11-27T09:30:00.000Z')),
});
