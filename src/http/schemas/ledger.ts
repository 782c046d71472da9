import { Type } from '@sinclair/typebox';
import { credits, moment, named, orNull, word } from '../../surface/schemas/parts.ts';

const MONTH = '2026-11-01T00:00:00.000Z';

export const FundStatus = named('FundStatus', 'A window of a budget, or the balance of a key.', {
  kind: word(['budget', 'balance'], 'A limit of the policy, or money granted to a key.'),
  name: Type.String({ description: 'Of the budget; ID of the key.', examples: ['team-month'] }),
  subject: Type.String({
    description: 'Whose share it is: what `each` gave. Empty for everyone’s.',
    examples: ['search'],
  }),
  limit_credits: credits('The limit of the window; all that was granted.', 50_000),
  spent_credits: credits('Charged so far.', 31_204.5),
  held_credits: credits('Held by requests that are running.', 12.4),
  left_credits: credits('Free now; negative after the limit was lowered.', 18_783.1),
  starts: orNull(moment('When the window began.', MONTH), 'Null for what always counts.'),
  renews_at: orNull(moment('When the next window begins.', '2026-12-01T00:00:00.000Z'), 'Null for never.'),
});

export const LedgerStatus = named('LedgerStatus', 'Money as it stands.', {
  charged_credits: credits('What callers paid, over all entries, less what was given back.', 40_210.25),
  held_credits: credits('What open reservations may still charge.', 12.4),
  open_reservations: Type.Integer({ minimum: 0, description: 'Requests that are running.', examples: [7] }),
  funds: Type.Array(FundStatus, { description: 'Those drawn on so far, the most used up first; at most 1,000.' }),
  funds_total: Type.Integer({ minimum: 0, description: 'How many there are.', examples: [3] }),
});
