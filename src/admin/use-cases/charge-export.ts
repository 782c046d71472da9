import { setImmediate } from 'node:timers/promises';
import { billed } from '../../core/accounting/bill.ts';
import { idText } from '../../core/id.ts';
import { toCredits } from '../../core/money/credits.ts';
import { iso } from '../../core/time/clock.ts';
import { type Line, momentOf, shownKind, usdCell } from '../../ledger/export/export.ts';
import type { JournalReader, MoneyEntry } from '../../store/journal-reader.ts';
import { csvLines, csvRow } from './csv.ts';
import type { Principal } from './principal.ts';
import type { Grouping } from './report/grouping.ts';
import { spanOf } from './report/period.ts';
import { checkAction } from './roles.ts';
import type { Sight } from './sight.ts';
import { entriesOf, groupColumns, groupOf, type HolderNames, type UsageQuery } from './usage.ts';
import { spendingOf } from './usage-sums.ts';

/** The sources of an export of single charges, with the rights of its caller. */
export interface ChargeSources {
  readonly journal: Pick<JournalReader, 'money'>;
  readonly sight: Sight;
  readonly nameOf: HolderNames;
  /** The value of a Credit in USD; null if it is unknown. */
  readonly usdPerCredit: string | null;
}

const FIGURES = ['input_tokens', 'cached_input_tokens', 'output_tokens', 'credits', 'usd', 'outcome'];

/**
 * Returns a CSV table with a line for each charge and refund that a usage report with the same query sums up, in pieces. If the caller may
 * not see IDs, `keyId` is a name.
 * @throws SignalboxError if the caller may not read usage. The generator rejects with StoreError.
 */
export function exportedCharges(
  by: Principal,
  sources: ChargeSources,
  query: Omit<UsageQuery, 'by'>,
): AsyncGenerator<string, void, void> {
  const reach = checkAction(by.caller, 'usage.read');
  return tableOf(sources, query, () => sources.sight.idsWithin(reach));
}

async function* tableOf(
  { journal, sight, nameOf, usdPerCredit }: ChargeSources,
  query: Omit<UsageQuery, 'by'>,
  idsWithin: () => ReturnType<Sight['idsWithin']>,
): AsyncGenerator<string, void, void> {
  const ids = await idsWithin();
  const usd = usdCell(usdPerCredit);
  // A caller who may see no IDs must not see persons either.
  const holders: readonly Grouping[] = sight.isNarrow ? ['key', 'team'] : ['key', 'team', 'user'];
  const lineOf = (entry: MoneyEntry): Line => ({
    time: iso(momentOf(entry)),
    decision: entry.reservation === null ? null : idText('dec_', entry.reservation),
    kind: shownKind(entry),
    ...groupOf(holders, [sight.keyOf(entry.keyId), entry.team, entry.user], nameOf, sight),
    model: entry.model,
    provider: entry.provider,
    input_tokens: entry.bill?.input ?? 0,
    cached_input_tokens: billed(entry.bill, 'cached_input'),
    output_tokens: entry.bill?.output ?? 0,
    credits: toCredits(entry.amount),
    usd: usd(entry.amount),
    outcome: entry.outcome ?? null,
  });
  const columns = ['time', 'decision', 'kind', ...groupColumns(holders, sight), 'model', 'provider', ...FIGURES];
  yield csvRow(columns);
  const { keyId } = query;
  const stored = { ...query, ...spanOf(query), keyId: sight.isNarrow ? null : keyId };
  for await (const page of entriesOf(journal, stored)) {
    // The server can serve requests between two pages.
    await setImmediate();
    const charges = page.filter((entry) => isCharge(entry) && (ids === null || ids.has(entry.keyId)));
    await sight.learn(charges.map((entry) => entry.keyId));
    const wanted = charges.filter((entry) => keyId === null || sight.keyOf(entry.keyId) === keyId);
    if (wanted.length > 0) yield csvLines(columns, wanted.map(lineOf));
  }
}

/** An overrun is the operator's loss, and no key pays it. */
const isCharge = (entry: MoneyEntry): boolean => entry.kind !== 'overrun' && spendingOf(entry) !== null;
