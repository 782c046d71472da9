import type { Statement, Store } from '../../store/store.ts';
import { readPrice } from '../export/price.ts';
import type { AuditFinding } from './audit.ts';

interface PricedRow {
  readonly seq: number;
  readonly kind: string;
  readonly reservation: number;
  readonly amount: number;
  readonly input: number;
  readonly cached: number;
  readonly written: number;
  readonly output: number;
  readonly price: string;
}

const SELECT_PRICED: Statement = {
  sql: `SELECT j.seq, j.kind, j.reservation, j.amount, j.input_tokens AS input, j.cached_input_tokens AS cached,
      j.cache_write_tokens AS written, j.output_tokens AS output, t.price
    FROM journal AS j JOIN tariffs AS t ON t.id = j.tariff WHERE j.seq > ? ORDER BY j.seq LIMIT ?`,
};
const PAGE_ROWS = 10_000;

/**
 * Computes every charge again from its stored tokens and price: the charge and the operator's part of it
 * must equal the cost, to the microcredit. Returns how many could not be computed: those of an implausible
 * usage, which have no tokens and cost the whole reservation, and those of an unknown price.
 */
export async function auditPrices(
  reader: Pick<Store, 'query'>,
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
  for (let after = Number.MIN_SAFE_INTEGER; ; ) {
    const rows = await reader.query<PricedRow>(SELECT_PRICED, [after, PAGE_ROWS]);
    for (const row of rows) {
      // The part beyond the reservation follows the charge.
      if (row.kind === 'overrun') borne += row.amount;
      else {
        judge();
        last = row;
        borne = 0;
      }
    }
    const end = rows.at(-1);
    if (!end) break;
    after = end.seq;
  }
  judge();
  return { unpriced };
}

/** Returns the cost, rounded up once, in integers throughout; null where it cannot be computed. */
function costOf({ price: text, input, cached, written, output }: PricedRow): bigint | null {
  const price = readPrice(text);
  if (!price || (input === 0 && output === 0)) return null;
  const line = [...price.lines].reverse().find(({ overInputTokens }) => input > overInputTokens) ?? price.lines[0];
  const sum =
    BigInt(price.perRequest) +
    BigInt(input - cached - written) * BigInt(line.input) +
    BigInt(cached) * BigInt(line.cachedInput) +
    BigInt(written) * BigInt(line.cacheWrite) +
    BigInt(output) * BigInt(line.output);
  const divisor = BigInt(price.divisor);
  return (sum + divisor - 1n) / divisor;
}
