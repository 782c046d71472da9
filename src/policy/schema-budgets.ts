import { type Static, Type } from '@sinclair/typebox';
import type { ExhaustedAction, WindowKind } from '../core/budget.ts';
import { closed, integer, itemName, number, oneOfExplained, optional } from './schema-parts.ts';

export const BudgetText = closed('A limit on spend in a window of time.', {
  name: itemName('Its name, in messages and figures. Under another name it is another budget.', 'team-month'),
  each: optional.expression(
    'Groups with a window each: CEL over `key`, `team.id`, `user.id` and `request.model` that gives a text; `key`, `team` and `user` are short for their IDs, and `session` means each session that a key’s requests name. Default: one window.',
    'team',
    'key',
    'session',
    'key.labels.project',
  ),
  match: optional.expression(
    'Requests that it covers: CEL over `key`, `team`, `user.id` and `request.model`. The names that `team.name` is compared with are replaced by the IDs of their teams when the policy loads. Default: all.',
    'team.name == "search"',
    'key.labels.project != ""',
    'request.model == "auto"',
  ),
  limit_credits: number(
    { minimum: 0, maximum: 1_000_000_000, example: 50_000 },
    'Credits that may be spent in each window. Read exactly, with at most 6 decimals.',
  ),
  window: oneOfExplained({
    means: {
      day: 'From midnight to midnight.',
      week: 'From Monday at midnight.',
      month: 'From the first of the month at midnight.',
      total: 'One window without an end: what is spent stays spent.',
    } satisfies Record<WindowKind, string>,
    examples: ['month'],
    description: 'Length of a window, by the calendar of `time_zone`. Weeks begin on Monday; `total` never ends.',
  }),
  time_zone: optional.string(
    { minLength: 1, maxLength: 64, example: 'Europe/Berlin' },
    'IANA time zone of its windows. Default: `gateway.time_zone`.',
  ),
  on_exhausted: oneOfExplained({
    means: {
      cap: 'The output is capped at what the budget can pay, if that is still useful.',
      reject: 'A request whose choice does not fit is refused, with 402.',
      downgrade: 'Only models whose worst case still fits are chosen from; where none does, the output is capped.',
    } satisfies Record<ExhaustedAction, string>,
    default: 'cap',
    examples: ['downgrade'],
    description:
      '`cap` caps the output at what the budget can pay, down to the least that is useful for the task. `reject` refuses with 402. `downgrade` first chooses among models whose worst case still fits.',
  }),
  alert_at: Type.Array(number({ exclusiveMinimum: 0, maximum: 1 }, 'Share of the limit: 0.8 is 80 %.'), {
    maxItems: 16,
    default: [],
    examples: [[0.5, 0.8, 1]],
    description: 'Shares of the limit, above 0 and up to 1. The log warns when one is spent.',
  }),
});
export type BudgetText = Static<typeof BudgetText>;

export const LedgerText = closed('How holds are handled.', {
  contention_wait_ms: integer(
    { minimum: 0, maximum: 60_000, default: 20_000 },
    'Milliseconds that a request waits for money of a budget that open holds have.',
  ),
  whole_hold_share: number(
    { minimum: 0, maximum: 1, default: 0.05 },
    'Share of the free money up to which a worst case is held whole. Above it, holds grow where `after_abort` allows it.',
  ),
  on_crash: oneOfExplained({
    means: {
      charge: 'Charged in full, because the providers may have been paid.',
      release: 'Released: nothing is charged for them.',
    },
    default: 'charge',
    examples: ['release'],
    description: 'Holds left by a crash are charged in full, or released.',
  }),
});
