import { Type } from '@sinclair/typebox';
import { ERROR_CODES } from '../core/api/error-schema.ts';
import { cacheWord } from '../core/decision/outcome.ts';
import { RECORD_STATUSES } from '../core/decision/record.ts';
import { REFUSED_ANSWER } from '../core/decision/refusal.ts';
import { decisionId, insteadOfOrNull, modelId } from '../core/decision/shared-fields.ts';
import * as f from '../core/define/fields.ts';
import { OPERATION_NAMES } from '../core/kinds/operations.ts';
import { plural } from '../core/text/text.ts';
import { iso } from '../core/time/clock.ts';

const textMapOrNull = (description: string, example: Readonly<Record<string, string>>) =>
  f.orNull(Type.Record(Type.String(), Type.String()), description, example);
/** The key that made a request. */
export const ofKey = {
  key_id: f.orNull(
    f.text(
      'The ID of the key that made the request, or the address of a wallet; null if you ask with a key with the scope `report`, and for requests with an unknown key.',
      'k7mw2pq9x4ta',
    ),
  ),
  key_name: f.orNull(
    f.text('The name of the key, or the address of the wallet; null if the key has no name.', 'search'),
  ),
  labels: textMapOrNull('The labels of the key when the request was made; null if the record cannot be read.', {
    team: 'search',
  }),
  team_id: f.as('team', f.orNull(f.text('ID of the team that the key belonged to; null for no team.'))),
  user_id: f.as(
    'user',
    f.orNull(
      f.text(
        'ID of the user that the key belonged to; null for no user, and if you ask with a key with the scope `report`.',
      ),
    ),
  ),
};

const orNoAnswer = (text: string) => `${text} Null for a recommendation.`;

interface CountingRow {
  readonly key_id: string | null;
  readonly refusal: { readonly method: string };
}

/** Says how many answers an entry stands for; nothing for an entry of one request, which has a method. */
const countedText = (answers: number, { key_id, refusal }: CountingRow): string =>
  refusal.method !== ''
    ? '-'
    : `${plural(answers, key_id === null ? 'answer' : 'more answer')} like this in that minute`;

const { answers, decision_id, ...ofRefused } = REFUSED_ANSWER;
const Refusal = f.shape('The answer to a request that was refused before a decision.', {
  ...ofRefused,
  message: f.textOrNull(
    'The message of the error, at most 300 characters, without words of the request. Null if you ask with a key with the scope `report`.',
    'There is no model or selector `gpt-9`.',
  ),
  answers: f.inCommand(answers, { title: 'counted', text: countedText }),
  decision_id,
});

export const DecisionSummary = f.named(
  'DecisionSummary',
  'A decision or a refused request in a list. If its record is unreadable, all fields except the first are null.',
  {
    id: f.text(
      'ID of the decision, which `GET /v1/decisions/{id}` explains. For a refused request, the ID of the request.',
      'dec_0a4x1wm3zk0',
    ),
    request_id: f.as(
      'request',
      f.textOrNull('ID of the request, as in the header `x-request-id`; null for none.', 'req_0a4x1wm3zj8'),
    ),
    object: f.always('decision.summary'),
    created: f.inCommand(f.wholeOrNull('When the record was written. Unix time in seconds.', 1_793_000_000), {
      text: (seconds: number) => f.secondText(iso(seconds * 1_000)),
    }),
    time: f.inCommand(f.orNull(f.moment('The same time as `created`, to the millisecond.')), { text: f.secondText }),
    ...ofKey,
    key_id: f.inCommand(ofKey.key_id, { none: '(unknown)' }),
    operation: f.orNull(
      f.word(OPERATION_NAMES, 'A word.'),
      'The operation of the request; null for a refused request to a path that calls no model.',
    ),
    status: f.word(
      RECORD_STATUSES,
      'How the request ended. `recommended`: a route query, which calls no model. `refused`: an answer with a status from 400 up and without a decision.',
    ),
    model: modelId(
      'The model that was tried last, or the choice if no model was tried. For a refused request, the model that it named, at most 128 characters; empty for none.',
    ),
    task: f.text('The task type of the request; empty for a refused request.', 'coding'),
    provider: f.orNull(f.text('The provider that was tried last; null if none was tried.', 'openai')),
    selector: f.orNull(
      f.text('The selector that the request named as `model`; `pinned` if the request named a model.', 'auto'),
    ),
    stream: f.orNull(f.flag('Whether the caller requested a stream; null if the record cannot be read.', true)),
    metadata: textMapOrNull(
      'The entries of the request’s `metadata` that `records.metadata` of the policy lists, redacted.',
      {},
    ),
    session: f.orNull(
      f.text(
        'The session that the request names; null for no session, and if you ask with a key with the scope `report`.',
      ),
    ),
    route_reason: f.as('reason', f.orNull(f.text('Why this model was chosen.', 'auto:usual'))),
    instead_of: insteadOfOrNull(', and for a recommendation'),
    policy_revision: f.as(
      'revision',
      f.orNull(f.text('The policy revision that was active when the decision was made.', '95f1a7d5f908027b')),
    ),
    error: f.orNull(f.word(ERROR_CODES, 'A code.'), 'The error that the caller received; null if there was no error.'),
    http_status: f.inCommand(
      f.wholeOrNull(
        'The HTTP status of the error, also if a stream had begun and ended with the error. 200 for an answer without an error; null if the caller left before the answer ended.',
        200,
      ),
      { title: 'HTTP' },
    ),
    refusal: f.as('refused', f.orNull(Refusal, 'Null for a decision.', null)),
    attempts: f.wholeOrNull(orNoAnswer('Attempts at endpoints.'), 1),
    credits_consumed: f.as(
      'charged',
      f.orNull(f.credits('Charged for the request.', 0.0123), orNoAnswer('Charged for the request. In Credits.')),
    ),
    cost_saved_credits: f.as(
      'saved',
      f.orNull(
        f.credits('The saving compared with the baseline model.', 0.0456),
        orNoAnswer('The saving compared with the baseline model; negative if the choice cost more. In Credits.'),
      ),
    ),
    charged_usd: f.as('charged', f.orNull(f.usd('The same as `credits_consumed`.', '0.0000123'))),
    saved_usd: f.as('saved', f.orNull(f.usd('The same as `cost_saved_credits`.', '0.0000456'))),
    input_tokens: f.wholeOrNull('Input tokens of the answer; null if there was no answer.', 1_204),
    output_tokens: f.wholeOrNull(
      'Output tokens of the answer, including hidden reasoning; null if there was no answer.',
      318,
    ),
    first_part_ms: f.wholeOrNull('From admission to the first content, in ms; null if no content arrived.', 312),
    total_ms: f.wholeOrNull(orNoAnswer('From admission to the end, in ms.'), 2_149),
    guards: f.textList(
      'What guards found in the request and in the answer, in sentences without their texts. An entry that counts several refused requests has the sentences of the first.',
      [],
    ),
    cache: cacheWord,
  },
);

export const DecisionList = f.named('DecisionList', 'Decisions and refused requests, newest first.', {
  object: f.always('list'),
  data: f.list(DecisionSummary, 'The newest first.'),
  has_more: f.flag(
    'Whether older decisions may match. To get them, repeat the request with `next_after` as `after`. The server examines a limited number of decisions for each page, so a page may have fewer decisions than its limit, or none, although more follow.',
  ),
  next_after: f.orNull(f.text('The value of `after` for the next page; null on the last page.', 'dec_0a4x1wm3zk0')),
});

export const KeptContent = f.named('KeptContent', 'The stored text of one request and its answer.', {
  decision_id: f.as('decision', decisionId),
  object: f.always('content'),
  prompt: f.orNull(
    f.list(Type.Unknown(), 'The messages.', [{ role: 'user', content: 'Write to [email].' }]),
    'The messages without media. The kinds of text that the policy lists are redacted. Null if prompts are not stored.',
  ),
  answer: f.orNull(
    f.list(Type.Unknown(), 'The choices.', [{ index: 0, content: 'Dear [email], …' }]),
    'The text that the model wrote, for each choice. Null if answers are not stored.',
  ),
  is_cut: f.flag('True if a text was longer than the limit and was cut.'),
  kept_until: f.as('until', f.moment('When the server deletes the stored text.', '2026-11-27T09:30:00.000Z')),
});
