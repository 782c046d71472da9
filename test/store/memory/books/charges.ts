import { timeOfId } from '../../../../src/core/id.ts';
import type { Dimensions, EntryLine } from '../../../../src/ledger/rules/entry.ts';
import { quarterOf } from '../../../../src/ledger/rules/quarter.ts';
import type { Window } from '../../../../src/ledger/rules/window.ts';
import type { Count, EndpointCharges, UsageFilter } from '../../../../src/store/books.ts';

interface MemoryCharge {
  readonly dimensions: Dimensions;
  readonly reservation: number;
  readonly amount: number;
  readonly entry: EntryLine | null;
}

/** The charges of books in memory, in their order. */
export class MemoryCharges {
  readonly #all: MemoryCharge[] = [];

  add(charge: MemoryCharge): void {
    this.#all.push(charge);
  }

  get charged(): number {
    return this.#all.reduce((sum, { amount }) => sum + amount, 0);
  }

  async count(): Promise<Count> {
    const before = this.#all.length;
    const of = ({ dimensions, amount }: MemoryCharge) => ({ dimensions, microcredits: amount });
    return {
      charges: async (fromMs) =>
        this.#all
          .slice(0, before)
          .filter(({ reservation }) => quarterOf(timeOfId(reservation)) >= quarterOf(fromMs))
          .map(of),
      late: () => this.#all.slice(before).map((one) => ({ ...of(one), quarter: quarterOf(timeOfId(one.reservation)) })),
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
