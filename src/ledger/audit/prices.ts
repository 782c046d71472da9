import { addOnPairs } from '../../core/price.ts';
import type { JournalReader, PricedRow } from '../../store/journal-reader.ts';
import { readAddOns, readPrice, sumOf } from '../export/price.ts';
import type { AuditFinding } from './audit.ts';

/**
 * Computes every charge again from its stored tokens and price: the charge and the operator's part of it
 * must equal the cost, to the microcredit. Returns how many could not be computed: those of an implausible
 * usage, which have no tokens and cost the whole reservation, and those of an unknown price.
 */
export async function auditPrices(
  journal: Pick<JournalReader, 'priced'>,
  report: (finding: AuditFinding) => void,
): Promise<{ unpriced: number }> {
  let last: PricedRow | null = null;
  let borne = 0;
  let unpriced = 0;
  const judge = () => {
    const cost = last && costOf(last);
    if (last === null) return;
    if (cost === null) unpriced++;
    else if (cost !== BigInt(last.amount) + BigInt(borne)) {
      const message = `charges ${last.amount} microcredits and ${borne} beyond, and its tokens cost ${cost}`;
      report({ kind: 'wrong_cost', seq: last.seq, reservation: last.reservation, message });
    }
  };
  for await (const page of journal.priced()) {
    for (const row of page) {
      // The part beyond the reservation follows the charge.
      if (row.kind === 'overrun') borne += row.amount;
      else {
        judge();
        last = row;
        borne = 0;
      }
    }
  }
  judge();
  return { unpriced };
}

/** Returns the cost, rounded up once, in integers throughout; null where it cannot be computed. */
function costOf({ price: text, input, cached, written, output, addOns: beside }: PricedRow): bigint | null {
  const price = readPrice(text);
  if (!price || (input === 0 && output === 0)) return null;
  const addOns = readAddOns(beside);
  const line = [...price.lines].reverse().find(({ overInputTokens }) => input > overInputTokens) ?? price.lines[0];
  const sum =
    BigInt(price.perRequest) +
    BigInt(input - cached - written) * BigInt(line.input) +
    BigInt(cached) * BigInt(line.cachedInput) +
    BigInt(written) * BigInt(line.cacheWrite) +
    BigInt(output) * BigInt(line.output) +
    (addOns ? sumOf(addOnPairs(price, line, addOns)) : 0n);
  const divisor = BigInt(price.divisor);
  return (sum + divisor - 1n) / divisor;
}
