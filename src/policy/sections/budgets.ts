import { type Static, Type } from '@sinclair/typebox';
import { closed, figure, list, optional, text, word } from '../../core/define/fields.ts';
import { excludes, expression, itemName, meaning, needsOneOf, policyAmount } from '../../core/define/policy-words.ts';
import type { Budget, BudgetScope, CalendarWindow, ExhaustedAction } from '../../core/money/budget.ts';
import { accessesOf } from '../cel/ast.ts';
import type { TextProgram } from '../cel/check.ts';
import { budgetViewOf } from '../cel/types.ts';
import { validPartsOf } from '../check/check.ts';
import { eachOf, expressionAt } from '../check/expression-drafts.ts';
import { checkList, type NamedItem } from '../check/section-checks.ts';
import { type DraftContext, defineSection, ORDINARY } from '../define/section.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import { listNames } from '../report/nearest.ts';
import type { Report } from '../report/report.ts';
import { inSteps } from '../report/steps.ts';
import { checkTimeZone } from '../report/time-zone.ts';
import { placeAt } from '../yaml/tree.ts';
import { readLimit } from './budget-limit.ts';
import { amountContext } from './credits.ts';
import { GATEWAY } from './gateway.ts';
import { type CheckedLimit, checkLimit } from './limits.ts';

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
      } satisfies Record<CalendarWindow, string>,
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

/** The section `budgets`. */
export const BUDGETS = defineSection({
  name: 'budgets',
  text: list(BudgetText, 'Limits on the Credits spent in windows of time.'),
  guard: ORDINARY,
  page: ['Spend', '../spend/budgets.md'],
  draft: draftBudgets,
  *compile(drafts, { check, installation: { ledger }, report }) {
    const budgets = yield* inSteps(drafts, (one) => checkLimit(one, 'budget', check, report));
    if (ledger) reviewRenamed(drafts, ledger.budgets, report);
    return budgets;
  },
});

/** A budget whose expressions are not checked yet. If any key of the budget is wrong, its figures are placeholders. */
export type BudgetDraft = ReturnType<typeof draftBudgets>[number];

function draftBudgets(stated: DraftContext) {
  const context = amountContext(stated);
  const zone = context.of(GATEWAY).timeZone;
  return checkList('budgets', BudgetText, context).map((named) => {
    const { name, tree, data } = named;
    const stated = data ?? validPartsOf(BudgetText, tree);
    const { window = 'total', time_zone: timeZone = zone, on_exhausted: onExhausted = 'cap', alert_at = [] } = stated;
    if (stated.time_zone !== undefined) checkTimeZone(timeZone, placeAt(tree, 'time_zone'), context.report);
    const place = placeAt(tree, 'name');
    reviewName(name, place, context.report);
    const each = eachOf(named);
    const limit = readLimit(BudgetText, named, context);
    const isOfSessions = each?.text.trim() === 'session';
    if (isOfSessions && stated.window === 'total') refuseEndless(named, context.report);
    return {
      name,
      place,
      match: expressionAt(named, 'match'),
      // The word `session` in `each` is a keyword, not an expression.
      each: isOfSessions ? ('session' as const) : each,
      ...limit,
      limit: limit.limit ?? 0,
      window,
      timeZone,
      onExhausted,
      alertAt: [...new Set(alert_at)].sort((a, b) => a - b),
    };
  });
}

/**
 * Reports a budget per session whose window never ends. Callers can invent sessions, and each window of a budget per session would be
 * stored forever.
 */
function refuseEndless({ path, tree }: NamedItem<BudgetText>, report: Report): void {
  report.add(
    'conflicting-keys',
    placeAt(tree, 'window'),
    `\`${path}\` has a window for each session, but the windows never end`,
    {
      expected: '`day`, `week` or `month`',
      hint: 'callers can name any number of sessions, and Signalbox would store a window for each of them forever',
    },
  );
}

/** Names that answers and reports use for a balance, a model's maximum output, and budgets of keys. */
const NAMES_OF_OTHERS = /^(balance|model|key-(day|week|month|total)([@:].*)?)$/;

const isOfOthers = (name: string): boolean => NAMES_OF_OTHERS.test(name);

const OTHERS: Readonly<Record<string, string>> = { balance: 'a balance', model: 'the maximum output of a model' };

function reviewName(name: string, place: SourceSpan, report: Report): void {
  if (!isOfOthers(name)) return;
  const other = OTHERS[name] ?? 'budgets of keys';
  report.add('ambiguous-name', place, `budget \`${name}\` has a name that answers and reports use for ${other}`, {
    hint: 'give the budget another name; Signalbox then counts its spending again from the entries',
  });
}

export function compileBudget({
  draft: { limitPlace: _, unit: __, ...draft },
  match,
  each,
}: CheckedLimit<BudgetDraft>): Budget {
  // The definition contains team IDs instead of names, so that a renamed team keeps its windows.
  const stated = match?.draft ?? draft.match;
  const texts = [stated, draft.each].map((one) => (typeof one === 'string' ? one : (one?.text.trim() ?? null)));
  const matches = match && ((scope: BudgetScope) => match.run(budgetViewOf(scope)));
  return {
    ...draft,
    ...(draft.each === 'session'
      ? ofSessions(matches)
      : { match: matches, each: each && ((scope) => each.run(budgetViewOf(scope))), ...(each && readsKeyId(each)) }),
    definition: JSON.stringify([...texts, draft.window, draft.timeZone]),
  };
}

const readsKeyId = ({ ast }: TextProgram): Pick<Budget, 'readsKeyId'> =>
  [...accessesOf(ast)].some(({ path: [owner, field] }) => owner === 'key' && field !== 'labels')
    ? { readsKeyId: true }
    : {};

/** Makes a window for each session of each key. A budget per session ignores requests without a session. */
const ofSessions = (matches: Budget['match']): Pick<Budget, 'match' | 'each' | 'isOfSessions'> => ({
  isOfSessions: true,
  match: (scope) => !!scope.request.session && (matches === null || matches(scope)),
  // The ID of a key contains no slash, so a session name can never reach the window of another key.
  each: ({ request, key }) => `${key.id}/${request.session}`,
});

/** Warns about budgets that are new while budgets that the ledger counts are gone. */
function reviewRenamed(budgets: readonly BudgetDraft[], inLedger: readonly string[], report: Report): void {
  const names = new Set(budgets.map(({ name }) => name));
  const gone = inLedger.filter((name) => !names.has(name));
  if (gone.length === 0) return;
  const counted = new Set(inLedger);
  const are = gone.length === 1 ? 'is' : 'are';
  for (const { name, place } of budgets) {
    if (counted.has(name)) continue;
    const message = `budget \`${name}\` is new, and ${listNames(gone)}, which the ledger counts, ${are} gone`;
    report.add('budget-renamed', place, message, {
      hint: 'a renamed budget is a new budget: Signalbox counts its spending again from the entries of its window, and sends its alerts again',
    });
  }
}
