import { type Static, Type } from '@sinclair/typebox';
import { closed, figure, optional, text, whole, word } from '../../core/define/fields.ts';
import { excludes, expression, itemName, meaning, needsOneOf, policyAmount } from '../../core/define/policy-words.ts';
import type { ExhaustedAction, WindowKind } from '../../core/money/budget.ts';

/** The highest limit of a budget, Credits. */
const LIMIT_CREDITS_MAX = 1_000_000_000;

/** A budget states its limit in exactly one unit. */
export const ONE_LIMIT = { ...needsOneOf('limit_credits', 'limit_usd'), ...excludes('limit_credits', 'limit_usd') };

export const BudgetText = closed(
  'A limit on the Credits spent in a window of time.',
  {
    name: itemName('Name of the budget, in messages and reports. A renamed budget is a new budget.', 'team-month'),
    each: optional(
      expression(
        'Gives each group of requests windows of its own: a CEL expression over `key`, `team.id`, `user.id` and `request.model` whose result is a text. `key`, `team` and `user` are short for their IDs; `session` means each session that the requests of a key name. Default: all requests share one window.',
        'team',
        'key',
        'session',
        'key.labels.project',
      ),
    ),
    match: optional(
      expression(
        'Condition that selects the requests which the budget applies to: CEL over `key`, `team`, `user.id` and `request.model`. Names that `team.name` is compared with are replaced by the IDs of these teams when the policy is loaded. Default: all requests.',
        'team.name == "search"',
        'key.labels.project != ""',
        'request.model == "auto"',
      ),
    ),
    limit_credits: optional(
      policyAmount(
        { minimum: 0, maximum: LIMIT_CREDITS_MAX, example: 50_000 },
        'Credits that may be spent in each window. Read exactly, with at most 6 decimals. A text may state another unit: `20 USD`.',
        '50,000',
        '20 USD',
      ),
    ),
    limit_usd: optional(
      policyAmount(
        { minimum: 0, example: 20 },
        'USD that may be spent in each window, instead of `limit_credits`. Converted to Credits with `credits.usd_per_credit`, and rounded down to 0.000001 Credits.',
        '1,000',
      ),
    ),
    window: word(
      {
        day: 'From midnight to midnight.',
        week: 'From midnight on Monday.',
        month: 'From midnight on the first day of the month.',
        total: 'One window that never ends, so the limit never renews.',
      } satisfies Record<WindowKind, string>,
      'Length of a window. Windows follow the calendar of `time_zone`. Weeks begin on Monday; `total` never ends.',
      {
        example: 'month',
        hints: {
          ...meaning('day', '1d 24h daily'),
          ...meaning('week', '7d 1w weekly'),
          ...meaning('month', '30d 1mo monthly'),
          ...meaning('total', 'lifetime never forever'),
        },
      },
    ),
    time_zone: optional(
      text('IANA time zone of the windows. Default: `gateway.time_zone`.', {
        minLength: 1,
        maxLength: 64,
        example: 'Europe/Berlin',
      }),
    ),
    on_exhausted: word(
      {
        cap: 'The output is capped at what the budget can pay, if that is still useful.',
        reject: 'A request is refused with 402 if the worst case of its model does not fit.',
        downgrade: 'Signalbox chooses only from models whose worst case fits. If there are none, the output is capped.',
      } satisfies Record<ExhaustedAction, string>,
      'What happens if the worst case of a request does not fit into the budget. `cap` caps the output at what the budget can pay, but not below the shortest useful answer of the task. `reject` refuses the request with 402. `downgrade` chooses only from models whose worst case fits, and caps the output if there are none.',
      {
        default: 'cap',
        example: 'downgrade',
        hints: { ...meaning('reject', 'block deny refuse stop error'), ...meaning('cap', 'truncate limit') },
      },
    ),
    alert_at: Type.Array(figure('A share of the limit: 0.8 is 80 %.', { exclusiveMinimum: 0, maximum: 1 }), {
      maxItems: 16,
      default: [],
      examples: [[0.5, 0.8, 1]],
      description: 'Shares of the limit, above 0 and at most 1. The log warns when spending reaches one of them.',
    }),
  },
  ONE_LIMIT,
);
export type BudgetText = Static<typeof BudgetText>;

export const LedgerText = closed('How Signalbox handles reserved money (holds).', {
  contention_wait_ms: whole(
    'Milliseconds that a request waits if other requests hold the money that it needs from a budget.',
    { minimum: 0, maximum: 60_000, default: 20_000 },
  ),
  whole_hold_share: figure(
    'Share of the free money up to which the worst case of a request is reserved at once. Larger holds grow in steps with the answer, if `after_abort` allows it.',
    { minimum: 0, maximum: 1, default: 0.05 },
  ),
  on_crash: word(
    {
      charge: 'The whole hold is charged, because the provider may have been paid.',
      release: 'The hold is released, and nothing is charged.',
    },
    'What happens to holds that a crash left open. `charge`: they are charged in full. `release`: they are released.',
    { default: 'charge', example: 'release' },
  ),
});
