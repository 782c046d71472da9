import { quarterOf, type Window } from '../../../../src/accounting/window.ts';
import { timeOfId } from '../../../../src/core/id.ts';
import type { Count, EndpointCharges, UsageFilter } from '../../../../src/store/books.ts';
import type { MemoryEntry, MemoryJournal } from './journal.ts';

/** An entry of a hold that is a charge, or gives one back. */
type ChargeEntry = MemoryEntry & { readonly reservation: number };

const KINDS: ReadonlySet<string> = new Set(['post', 'settle', 'expire', 'correct']);
const isCharge = (entry: MemoryEntry): entry is ChargeEntry =>
  KINDS.has(entry.kind) && entry.reservation !== null && (entry.amount !== 0 || entry.entry !== null);

/** The charges in a journal in memory, in their order. */
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

  async count(): Promise<Count> {
    const last = this.#journal.entries.at(-1)?.seq ?? 0;
    const of = ({ dimensions, amount }: ChargeEntry) => ({ dimensions, microcredits: amount });
    return {
      charges: async (fromMs) =>
        this.#all
          .filter(({ seq, reservation }) => seq <= last && quarterOf(timeOfId(reservation)) >= quarterOf(fromMs))
          .map(of),
      late: () =>
        this.#all
          .filter(({ seq }) => seq > last)
          .map((one) => ({ ...of(one), quarter: quarterOf(timeOfId(one.reservation)) })),
      end: () => {},
    };
  }

  usage({ keyId, from, to }: UsageFilter): EndpointCharges[] {
    return this.#all
      .filter(({ dimensions }) => keyId === null || dimensions.key === keyId)
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
