import type { Dimensions } from '../../../../src/core/accounting/entry.ts';
import { quarterOf, type Window } from '../../../../src/core/accounting/window.ts';
import { timeOfId } from '../../../../src/core/id.ts';
import type { EntryOwner } from '../../../../src/core/money/budget.ts';
import type {
  CountPosition,
  EndpointCharges,
  QuarterCharges,
  UncountedCharges,
  UsageFilter,
} from '../../../../src/store/books.ts';
import type { Cursor } from '../../../../src/store/cursor.ts';
import type { MemoryFund } from './funds.ts';
import type { MemoryEntry, MemoryJournal } from './journal.ts';

/** An entry of a hold that is a charge or a refund. */
type ChargeEntry = MemoryEntry & { readonly reservation: number };

const KINDS: ReadonlySet<string> = new Set(['post', 'settle', 'expire', 'correct']);
const isCharge = (entry: MemoryEntry): entry is ChargeEntry =>
  KINDS.has(entry.kind) && entry.reservation !== null && (entry.amount !== 0 || entry.entry !== null);

const chargeOf = ({ dimensions, amount, reservation }: ChargeEntry): QuarterCharges[number] => ({
  ...{ dimensions, microcredits: amount, quarter: quarterOf(timeOfId(reservation)) },
});
const isOwned = ({ key, team, user }: Dimensions, owner: EntryOwner): boolean =>
  (owner.keyId ?? key) === key && (owner.team ?? team) === team && (owner.user ?? user) === user;

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
  uncounted(
    budget: number,
    from: CountPosition | null,
    { starts }: Window,
    owners: readonly EntryOwner[] = [],
  ): UncountedCharges {
    const to = this.#journal.horizon;
    const first = quarterOf(starts);
    const visible = this.#all.filter(({ place }) => place <= to);
    const isInWindow = ({ reservation }: ChargeEntry) => quarterOf(timeOfId(reservation)) >= first;
    const isLate = ({ place, drawn }: ChargeEntry) =>
      from !== null && place > from.through && !drawn.some((fund) => fund.budget === budget);
    const charges = visible.filter(from === null ? isInWindow : isLate).map(chargeOf);
    const isOfOwner = ({ dimensions }: ChargeEntry) => owners.some((owner) => isOwned(dimensions, owner));
    const ofOwners = from === null ? [] : visible.filter((one) => isInWindow(one) && isOfOwner(one)).map(chargeOf);
    return { from, to, charges, ofOwners };
  }

  /** Returns the charges after a position that drew on a fund. */
  drawnAfter(fund: MemoryFund, at: Cursor): number {
    const later = this.#all.filter(({ place, drawn }) => place > at && drawn.includes(fund));
    return later.reduce((sum, { amount }) => sum + amount, 0);
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
        stated: entry?.stated ?? 0,
        matched: entry?.stated === undefined ? 0 : entry.cost,
      }));
  }

  spentIn(keyId: string, { starts, ends }: Window): number {
    return this.usage({ keyId, from: starts, to: ends }).reduce((sum, { microcredits }) => sum + microcredits, 0);
  }
}
