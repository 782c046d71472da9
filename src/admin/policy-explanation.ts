import { Type } from '@sinclair/typebox';
import * as field from '../core/api/parts.ts';
import { CERTIFICATE } from './certificate.ts';
import { Facts } from './decision-facts.ts';

export const PolicyExplanation = field.named('PolicyExplanation', 'The decision for a request that was not sent.', {
  policy_revision: field.policyRevision,
  route_reason: field.textOrNull('As a request gets it; null for a refusal.', 'auto:balanced'),
  choice: field.textOrNull('The model; null for a refusal.', 'gpt-6-luna'),
  refusal: field.shapeOrNull('The error that a request would get; null for none.', {
    code: field.text('Its code.', 'no_eligible_model'),
    message: field.text('Its sentence.', 'No model fits.'),
  }),
  facts: Facts,
  ...CERTIFICATE,
  pareto_front: field.textList(
    'The eligible models that no other one equals in quality, cost and time and beats in one of them.',
    ['gpt-6-luna'],
  ),
  first_hold_credits: field.figureOrNull(
    'What would be held at first. In Credits. Null where it would wait or be refused; without a key, a team or a user only the first tranche of a hold that grows.',
    1.9,
  ),
  hold_note: Type.Optional(
    field.textOrNull(
      'A sentence on what is held, or on why it is refused for lack of money; null where there is nothing to say.',
    ),
  ),
  shortage: field.textOrNull('The code of the error with which it is refused for lack of money.', null),
  task_note: field.textOrNull('A sentence on a stated task that the policy does not know.', null),
  task_reasons: field.shapeOrNull('The words that decided the likeliest task; null where it is stated.', {
    task: field.text('The task.', 'coding'),
    share: field.share('The probability of this task.', 0.8),
    words: field.rows('The words.', {
      text: field.text('The word.', 'refactor'),
      of: field.text('Where it stands.', 'question'),
      adds: field.figure('How much it adds.', 1.2),
    }),
  }),
  failed_rules: field.rows(
    'Rules whose condition failed, and so counts as true.',
    { name: field.text('The rule.', 'eu-only'), error: field.text('The error.', 'no such key') },
    [],
  ),
  readings: field.word(
    ['present', 'declared'],
    '`declared`: the policy’s own figures, where none of its endpoints is active.',
  ),
  is_funded: field.flag('Whether budgets and balances are considered: those of the key, the team or the user.', false),
  left_out_here: field.textList('Providers that the variables set here leave out, with the reason.', []),
  usd_per_credit: field.text('The worth of a Credit. In USD, an exact decimal.', '0.001'),
});
