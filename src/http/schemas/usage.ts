import { Type } from '@sinclair/typebox';
import { credits, named, orNull, tokens } from '../../surface/schemas/parts.ts';
import { FundStatus } from './ledger.ts';

const day = (description: string, example: string) =>
  Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', description, examples: [example] });

const figures = {
  charges: Type.Integer({
    minimum: 0,
    description: 'Attempts that were charged: one for an ordinary request. A refund counts as one.',
    examples: [214],
  }),
  input_tokens: tokens('Input tokens that were billed.', 120_400),
  output_tokens: tokens('Output tokens that were billed, hidden reasoning included.', 31_250),
  credits: credits('Charged, less what was given back.', 61.75),
};

const UsageDay = named('UsageDay', 'What one model was charged on one day.', {
  date: day('The day, in `time_zone`, on which the requests began.', '2026-11-20'),
  model: orNull(
    Type.String({ examples: ['gpt-6-luna'] }),
    'ID of the model; null for refunds and for what a crash left behind, which name none.',
  ),
  ...figures,
});

const period = {
  object: Type.Literal('usage', { description: 'Always `usage`.' }),
  from: day('The first day.', '2026-10-22'),
  to: day('The day after the last one.', '2026-11-21'),
  time_zone: Type.String({ description: 'IANA name of the zone in which days begin.', examples: ['UTC'] }),
};

export const UsageReport = named('UsageReport', 'What the calling key has spent, and what it may still spend.', {
  ...period,
  total_credits: credits('The sum of all days.', 1_204.5),
  days: Type.Array(UsageDay, { description: 'By day, then by model; days without charges are left out.' }),
  funds: Type.Array(FundStatus, {
    description:
      'What requests of this key draw on now: windows of budgets, those that it shares with others included, and its balance.',
  }),
  balance_credits: orNull(
    Type.Number({ examples: [21.8] }),
    'What is left of the key’s balance. In Credits. Null for a key without one, which only budgets limit.',
  ),
});

const UsageGroup = named('UsageGroup', 'The charges of one group.', {
  group: Type.Record(Type.String(), Type.String(), {
    description:
      'The name of the group in each grouping: `day`, `month`, `key_id`, `model`, `provider`, `selector`, `label:NAME`. Empty where the charge has none: a refund names no model.',
    examples: [{ key_id: 'k7mw2pq9x4ta', model: 'gpt-6-luna' }],
  }),
  ...figures,
});

export const AdminUsage = named('AdminUsage', 'The charges of all keys in a period, by groups.', {
  ...period,
  by: Type.Array(Type.String(), { description: 'The groupings.', examples: [['key', 'model']] }),
  total_credits: credits('The sum of all groups.', 1_204.5),
  groups: Type.Array(UsageGroup, { description: 'In the order of their names; at most 10,000.' }),
});
