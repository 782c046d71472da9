import { Type } from '@sinclair/typebox';
import { credits, list, shape, shapeOrNull, text, textOrNull, word } from '../define/fields.ts';
import { ANSWER_SIGNALS, FAILURE_KINDS } from '../request/failure-kinds.ts';
import { LEFT_OUT_REASONS } from './decision.ts';

/** The fields that several answers of the API have. */

/** The member `alias` of an answer or a recommendation. */
export const aliasUsed = Type.Optional(
  text(
    'The name that the request used as `model`, if it is an alias or another name of a selector or model. Absent otherwise.',
    'claude-sonnet-5-5',
  ),
);

/** Describes `output_capped_by`. @param what the cap that was lowered @param none the value if neither a fund nor the model lowered it */
export const cappedByText = (what: string, none: 'Absent' | 'Null'): string =>
  `What lowered ${what}: the name of a budget, \`balance\`, or \`model\` for the model’s own maximum. ${none} if none of them did. \`budget_limit\` and the context window are not reported.`;

export const failureKind = word(
  [...FAILURE_KINDS, 'refused', ...ANSWER_SIGNALS],
  'The kind of failure. `refused`: the model or a content filter refused to answer, and a fallback followed. `malformed_call`, `broken_schema` and `empty_answer`: the answer did not have the form that the request wants, and another model was tried.',
);

export const afterSignal = word(
  ANSWER_SIGNALS,
  'What was wrong with the earlier answer to the same request, if a model of the strong tier was then tried. Absent for other attempts.',
);
export const attemptCredits = credits(
  'The charge for this attempt. Absent if it was not charged, or if none before the last attempt was charged.',
  0.03,
);

export const servedTier = text(
  'The service tier that the provider’s answer states, such as `flex`. Absent if it states none, and for the default tier if the request asks for none.',
  'flex',
);

export const modelId = (description: string, example = 'gpt-6-luna') => text(description, example);

export const decisionId = text('ID of the decision. `GET /v1/decisions/{id}` explains it.', 'dec_0a4x1wm3zk0');

export const policyRevision = text(
  'The policy revision that was active when the decision was made. If models were found at servers of the operator, a hyphen and a hash of them follow; if prices of the policy change with time, a dot and a hash of those that applied.',
  '95f1a7d5f908027b',
);

export const routeReason = text(
  'Why this model was chosen, as a short and stable label: `pinned`, or the selector and the strategy. `:fallback` is appended if the first choice failed, or if the model that the request names was left out, and `:second_attempt` if its answer did not have the form that the request wants and the answer comes from a model of the strong tier. Earlier versions appended `:explored` if they picked a model other than the best at random.',
  'auto:usual',
  'pinned',
  'auto:usual:fallback',
  'auto:usual',
);

const insteadOfFields = {
  model: modelId('The model that the request names.', 'gpt-6-astra'),
  reason: word(
    LEFT_OUT_REASONS,
    'Why it was left out: the kind of its rejection, as in an explanation, or the state of its endpoints. /docs/guide/route/fallback.md explains the words.',
    'cooling',
  ),
  text: text('The reason in words.', 'it is unavailable for now: its provider asked for a pause'),
};
const INSTEAD_OF = 'The model that the request names, if it was not called and a fallback was used instead.';

export const insteadOf = shape(`${INSTEAD_OF} Absent otherwise.`, insteadOfFields);

export const insteadOfOrNull = (more = '') =>
  shapeOrNull(`${INSTEAD_OF} Null otherwise${more}.`, insteadOfFields, null);

export const upstreamRequestId = textOrNull(
  'The provider’s own ID of the request, for its support; null if the provider sent none.',
  'req_011CT3xgr1oV8B9YvDbBMeQx',
);
export const rawFinishReasons = list(
  Type.String({ examples: ['end_turn'] }),
  'Why each choice of the answer ended, in the provider’s own words.',
);
