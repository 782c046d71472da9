import { quarterOf, type Window } from '../../../../src/core/accounting/window.ts';
import { timeOfId } from '../../../../src/core/id.ts';
import type { EndpointCharges, UncountedCharges, UsageFilter } from '../../../../src/store/books.ts';
import type { Cursor } from '../../../../src/store/cursor.ts';
import type { MemoryEntry, MemoryJournal } from './journal.ts';

/** An entry of a hold that is a charge or a refund. */
type ChargeEntry = MemoryEntry & { readonly reservation: number };

const KINDS: ReadonlySet<string> = new Set(['post', 'settle', 'expire', 'correct']);
const isCharge = (entry: MemoryEntry): entry is ChargeEntry =>
  KINDS.has(entry.kind) && entry.reservation !== null && (entry.amount !== 0 || entry.entry !== null);

/** The charges of a journal in memory, in order. */
export class MemoryCharges {
  readonly #journal: MemoryJournal;

  constructor(journal: MemoryJournal) {
    this.#journal = journal;
  }

  get #all(): readonly ChargeEntry[] {
    return this.#journal.entries.filter(isCharge);
  }

  get charged(): number {
    return this.#all.reduce((sum, { amount }) => sum + amount, 0);
  }

  /** Returns the charges after a position that did not draw on a budget; without a position, from the start of a window on. */
  uncounted(budget: number, from: Cursor | null, { starts }: Window): UncountedCharges {
    const to = this.#journal.horizon;
    const isWanted = ({ place, reservation, drawn }: ChargeEntry) =>
      place <= to &&
      !drawn.includes(budget) &&
      (from === null ? quarterOf(timeOfId(reservation)) >= quarterOf(starts) : place > from);
    const charges = this.#all.filter(isWanted).map(({ dimensions, amount, reservation }) => ({
      ...{ dimensions, microcredits: amount, quarter: quarterOf(timeOfId(reservation)) },
    }));
    return { from, to, charges };
  }

  usage({ keyId, keyIds = null, team = null, user = null, from, to }: UsageFilter): EndpointCharges[] {
    return this.#all
      .filter(({ dimensions }) => keyId === null || dimensions.key === keyId)
      .filter(({ dimensions }) => keyIds === null || keyIds.has(dimensions.key ?? ''))
      .filter(({ dimensions }) => team === null || dimensions.team === team)
      .filter(({ dimensions }) => user === null || dimensions.user === user)
      .filter(({ reservation }) => timeOfId(reservation) >= from && timeOfId(reservation) < to)
      .map(({ dimensions, amount, entry }) => ({
        dimensions,
        model: entry?.tariff.model ?? null,
        provider: entry?.tariff.provider ?? null,
        charges: 1,
        microcredits: amount,
        input: entry?.usage.inputTokens ?? 0,
        output: entry?.usage.outputTokens ?? 0,
      }));
  }

  spentIn(keyId: string, { starts, ends }: Window): number {
    return this.usage({ keyId, from: starts, to: ends }).reduce((sum, { microcredits }) => sum + microcredits, 0);
  }
}
