import type { Static } from '@sinclair/typebox';
import { type Decimal, plainText } from '../../core/money/decimal.ts';
import type { PaymentNetwork, PaymentPolicy } from '../../core/policy/payments.ts';
import type { AmountContext } from '../check/amounts.ts';
import { validPartsOf } from '../check/check.ts';
import { checkSection, emptyMap, sectionSubject } from '../check/section-checks.ts';
import { isAbove, type UsdAmount, usdReader } from '../check/usd.ts';
import { asDrafted, type DraftContext, defineSection } from '../define/section.ts';
import type { Report } from '../report/report.ts';
import { amountContext } from '../sections/credits.ts';
import { PUBLIC_URL } from '../sections/public-url.ts';
import { entryOf, placeAt, type Tree, valueAt } from '../yaml/tree.ts';
import { draftNetwork } from './networks.ts';
import { PaymentsText, PrepaidText, QuoteText, X402Text } from './schema.ts';

const PATH = 'payments.x402';

/** The section `payments`. The payments module checks whether the environment variables that it names are set. */
export const PAYMENTS = defineSection({
  name: 'payments',
  text: PaymentsText,
  guard: 'it decides who is paid, and by which service',
  page: ['Spend', '../spend/accepting-payments.md'],
  draft: draftPayments,
  compile: asDrafted,
});

/**
 * Checks the whole section `payments`, even if payments are off. `draftPayments` returns null if payments are off or anything in the
 * section is wrong.
 */
function draftPayments(stated: DraftContext): PaymentPolicy | null {
  const context = amountContext(stated);
  const { report, usdPerCredit } = context;
  const publicUrl = context.of(PUBLIC_URL);
  const section = sectionSubject('payments', context).tree;
  const text = checkSection('payments', PaymentsText, context)?.x402 ?? null;
  const entry = entryOf(section, 'x402');
  if (!entry) return null;
  const { value: tree, place } = entry;
  const parts = text ?? validPartsOf(X402Text, tree);
  const partAt = (key: string): Tree => valueAt(tree, key) ?? emptyMap(place);
  const quote = readQuote(partAt('quote'), context);
  const topUp = readTopUp(partAt('prepaid'), context);
  const networks = readNetworks(partAt('networks'), text, parts.allow_mainnet ?? false, usdPerCredit, report);
  if (parts.enabled && isNone(partAt('networks'))) {
    const where = valueAt(tree, 'networks') ? 'networks' : 'enabled';
    report.add('missing-key', placeAt(tree, where), `\`${PATH}\` is enabled but has no network`, {
      expected: 'at least one network in `networks`, with `id`, `asset`, `pay_to`, `rpc_urls` and `facilitator`',
    });
  }
  const [first, ...others] = networks;
  if (!text?.enabled || !quote || !topUp || !first) return null;
  return {
    networks: [first, ...others],
    publicUrl: text.public_url ?? publicUrl,
    quoteTtlMs: text.quote.ttl_seconds * 1000,
    ...quote,
    settleMarginMs: text.settle_margin_seconds * 1000,
    walletRequired: text.agent_wallet.required,
    quotesBalance: text.quote.apply_balance,
    prepaid: text.prepaid.enabled ? topUp : null,
    bodyBytesMax: text.body_bytes_max,
  };
}

const isNone = (tree: Tree): boolean =>
  tree.kind === 'list' ? tree.items.length === 0 : tree.kind === 'map' && tree.entries.length === 0;

function readQuote(tree: Tree, context: AmountContext) {
  const { report } = context;
  const path = `${PATH}.quote`;
  const usd = usdReader(QuoteText, { path, tree }, context);
  const max = usd('max_usd', 'down');
  const min = usd('min_charge_usd', 'up');
  const fee = usd('settle_fee_usd', 'up');
  if (!max || !min || !fee) return null;
  refuseAbove(tree, path, 'min_charge_usd', min, max, report);
  if (fee.credits >= max.credits) {
    const most = plainText(max.usd);
    const message = `\`${PATH}.quote.settle_fee_usd\` is ${plainText(fee.usd)}, which leaves nothing of \`max_usd\`, ${most}, for the request`;
    report.add('out-of-range', placeOfEither(tree, 'settle_fee_usd', 'max_usd'), message, {
      expected: `less than ${most}, or a larger \`max_usd\``,
    });
  }
  return { quoteMax: max.credits, chargeMin: Math.min(min.credits, max.credits), settleFee: fee.credits };
}

function readTopUp(tree: Tree, context: AmountContext) {
  const path = `${PATH}.prepaid`;
  const usd = usdReader(PrepaidText, { path, tree }, context);
  const min = usd('min_usd', 'up');
  const max = usd('max_usd', 'down');
  if (!min || !max) return null;
  refuseAbove(tree, path, 'min_usd', min, max, context.report);
  return { min: Math.min(min.credits, max.credits), max: max.credits };
}

/**
 * Reports a lower bound that exceeds the upper bound. The comparison uses USD, because rounding to microcredits can make equal bounds
 * differ.
 */
function refuseAbove(tree: Tree, path: string, key: string, min: UsdAmount, max: UsdAmount, report: Report): void {
  if (!isAbove(min.usd, max.usd)) return;
  const most = plainText(max.usd);
  const message = `\`${path}.${key}\` is ${plainText(min.usd)}, which is above \`max_usd\`, ${most}`;
  report.add('out-of-range', placeOfEither(tree, key, 'max_usd'), message, {
    expected: `at most ${most}, or a larger \`max_usd\``,
  });
}

/** Returns the location of the key that the policy states, the first key if it states both. */
function placeOfEither(tree: Tree, key: string, other: string) {
  return placeAt(tree, valueAt(tree, key) ? key : other);
}

function readNetworks(
  tree: Tree,
  text: Static<typeof X402Text> | null,
  allowsMainnet: boolean,
  usdPerCredit: Decimal,
  report: Report,
): PaymentNetwork[] {
  if (tree.kind !== 'list') return [];
  const first = new Map<string, ReturnType<typeof placeAt>>();
  return tree.items.flatMap((item, at) => {
    const path = `${PATH}.networks[${at}]`;
    const subject = { path, tree: item, place: item.place, data: text?.networks[at] ?? null };
    const network = draftNetwork(subject, { allowsMainnet, usdPerCredit, report });
    const id = valueAt(item, 'id');
    if (id?.kind !== 'scalar' || typeof id.value !== 'string') return [];
    report.isFirst(id.value, id.place, first, `${PATH}.networks: ${id.value}`);
    return network ? [network] : [];
  });
}
