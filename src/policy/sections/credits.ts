import { closed, figure } from '../../core/define/fields.ts';
import { USD_PER_CREDIT_MAX } from '../../core/money/amount.ts';
import { type Decimal, plainText } from '../../core/money/decimal.ts';
import type { AmountContext } from '../check/amounts.ts';
import { checkSection, sectionSubject } from '../check/section-checks.ts';
import { type DraftContext, defineInput, ORDINARY } from '../define/section.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';
import { decimalAt } from '../schema/prices.ts';
import { valueAt } from '../yaml/tree.ts';

const CreditsText = closed('The worth of a Credit.', {
  usd_per_credit: figure('USD that one Credit is worth.', {
    exclusiveMinimum: 0,
    maximum: USD_PER_CREDIT_MAX,
    default: 0.001,
  }),
});

const USD_PER_CREDIT: Decimal = { digits: 1n, scale: 3 };

/** The worth of a Credit. */
interface CreditDraft {
  /** The default if the worth is wrong. */
  readonly usdPerCredit: Decimal;
  readonly usd: string;
  /** Location of the figure, or the beginning of the policy if the figure is not stated; null if the worth is wrong. */
  readonly place: SourceSpan | null;
  readonly isStated: boolean;
}

/** The section `credits`. The snapshot has its worth as `usdPerCredit`, as the ledger does. */
export const CREDITS = defineInput({
  name: 'credits',
  text: CreditsText,
  guard: ORDINARY,
  draft(context): CreditDraft {
    const { tree } = sectionSubject('credits', context);
    const checked = checkSection('credits', CreditsText, context);
    const stated = valueAt(tree, 'usd_per_credit');
    const exact = stated && checked ? decimalAt(tree, 'usd_per_credit', context.report) : USD_PER_CREDIT;
    const usdPerCredit = (checked && exact) || USD_PER_CREDIT;
    const place = checked && exact && (stated?.place ?? context.start);
    return { usdPerCredit, usd: plainText(usdPerCredit), place, isStated: stated !== undefined };
  },
  review(credit, { installation: { ledger }, report }) {
    if (ledger) checkLedger(credit, ledger.usdPerCredit, report);
  },
});

/** Returns the context of a section that states amounts. */
export const amountContext = (context: DraftContext): AmountContext & DraftContext => ({
  ...context,
  usdPerCredit: context.of(CREDITS).usdPerCredit,
});

function checkLedger({ usd, place, isStated }: CreditDraft, inLedger: string | null, report: Report): void {
  if (place === null || inLedger === null || usd === inLedger) return;
  const stated = isStated ? `\`credits.usd_per_credit\` is ${usd}` : `a Credit is worth ${usd} USD`;
  const unstated = isStated ? '' : ', the default of `credits.usd_per_credit`';
  const message = `${stated}${unstated}, but the ledger was counted in Credits of ${inLedger} USD`;
  report.add('credits-changed', place, message, {
    expected: `\`credits: { usd_per_credit: ${inLedger} }\``,
    hint: 'the worth of a Credit can change only with an empty ledger: start with a new data folder',
  });
}
