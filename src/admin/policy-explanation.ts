import { Type } from '@sinclair/typebox';
import { type Sentence, textsOf } from '../core/decision/sentence.ts';
import { policyRevision } from '../core/decision/shared-fields.ts';
import * as field from '../core/define/fields.ts';
import { FactsAnswer } from '../core/request/facts.ts';
import { CERTIFICATE, type Certified } from './certificate.ts';
import { sentences } from './sentence.ts';

const DECIDED = {
  policy_revision: policyRevision,
  route_reason: field.textOrNull(
    'The reason for the choice, as a real request would report it; null for a refusal.',
    'auto:usual',
  ),
  choice: field.textOrNull('The chosen model; null for a refusal.', 'gpt-6-luna'),
  refusal: field.shapeOrNull('The error that a real request would get; null if the request is accepted.', {
    code: field.text('The code of the error.', 'no_eligible_model'),
    message: field.text('The error in a sentence.', 'No model fits.'),
  }),
};

const NOTED = {
  sentences: sentences(
    'The decision in sentences, with notes about the task, the hold, and rules whose condition failed.',
  ),
  first_hold_credits: field.figureOrNull(
    'The amount that would be held at first. In Credits. Null if the request would wait or be refused. Without a key, a team or a user, only the first part of a hold that can grow.',
    1.9,
  ),
  first_hold_usd: field.textOrNull(
    'The same as `first_hold_credits`. In USD, an exact decimal; null without a hold.',
    '0.0019',
  ),
  hold_note: Type.Optional(
    field.textOrNull('A sentence about the hold, or about the lack of money; null if there is nothing to say.'),
  ),
  shortage: field.textOrNull(
    'The code of the error if the request is refused for lack of money; null otherwise.',
    null,
  ),
  pareto_front: field.textList(
    'The eligible models for which no other model is at least as good in quality, cost and latency and better in one of them.',
    ['gpt-6-luna'],
  ),
  task_note: field.textOrNull('A sentence about a task that the request states but the policy does not know.', null),
  task_reasons: field.shapeOrNull(
    'The words that decided which task is most likely; null if the request states its task.',
    {
      task: field.text('The task.', 'coding'),
      share: field.share('The probability of this task.', 0.8),
      words: field.rows('The words.', {
        text: field.text('The word.', 'refactor'),
        of: field.text('Where the word is: in the question, or in the system prompt.', 'question'),
        adds: field.figure('How much the word adds to the task’s score.', 1.2),
      }),
    },
  ),
  failed_rules: field.rows(
    'Rules whose condition failed with an error. A condition that fails counts as true.',
    { name: field.text('The rule.', 'eu-only'), error: field.text('The error.', 'no such key') },
    [],
  ),
  readings: field.word(
    ['present', 'declared'],
    '`declared`: only the figures of the policy were used, because none of its endpoints is active on this server.',
  ),
  is_funded: field.flag('Whether the budgets and balances of the key, the team or the user were considered.', false),
  left_out_here: field.textList(
    'Providers that cannot serve with the variables that are set here, each with the reason.',
    [],
  ),
  usd_per_credit: field.text('The value of a Credit. In USD, an exact decimal.', '0.001'),
};

/** The decision for a request that was not sent, as an answer shows it. */
export interface ShownExplanation extends Certified, field.ObjectValue<typeof DECIDED & typeof NOTED> {
  /** The sentences without notes about the task, the hold and failed rules. */
  readonly decisionStory: readonly Sentence[];
}

export const PolicyExplanation = field.view<ShownExplanation>()(
  'The decision for a request that was not sent.',
  {
    ...DECIDED,
    facts: FactsAnswer,
    ...CERTIFICATE,
    explanation: field.from<ShownExplanation>()(({ decisionStory }) => textsOf(decisionStory), CERTIFICATE.explanation),
    ...NOTED,
  },
  { title: 'PolicyExplanation' },
);
