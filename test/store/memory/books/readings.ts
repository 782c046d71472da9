import type { FundRef, FundStanding } from '../../../../src/core/accounting/fund.ts';
import { leftOf } from '../../../../src/core/accounting/held-sum.ts';
import type { Window } from '../../../../src/core/accounting/window.ts';
import type { EntryOwner } from '../../../../src/core/money/budget.ts';
import type { EndpointCharges, UncountedCharges, UsageFilter } from '../../../../src/store/books.ts';
import type { InstanceName } from '../../../../src/store/instance.ts';
import { FORGOTTEN_MS, type Orphan } from '../../../../src/store/ledger-table.ts';
import type { News } from '../../../../src/store/news.ts';
import type { Store } from '../../../../src/store/store.ts';
import type { MemoryRequest, MemoryReservation } from './booked.ts';
import { MemoryCharges } from './charges.ts';
import { MemoryFunds } from './funds.ts';
import { MemoryJournal } from './journal.ts';

/** The parts of a store that books in memory need. The books' own figures are lost with the process. */
type Commit = Pick<Store, 'commit' | 'append' | 'written'> & { readonly news?: News };

const nameOf = ({ slot, epoch }: InstanceName): string => `${slot}/${epoch}`;

/** The methods of books in memory that only read. */
export class MemoryReadings {
  protected readonly store: Commit;
  protected readonly funds = new MemoryFunds();
  readonly journal = new MemoryJournal();
  protected readonly charges = new MemoryCharges(this.journal);

  protected readonly reservations = new Map<number, MemoryReservation>();
  /** Grants and refunds that commands have requested. */
  readonly requests: MemoryRequest[] = [];

  /** Nothing proves that an instance is dead, so its holds stay open for this time. */
  readonly graceMs = 60_000;
  readonly #dead = new Set<string>();

  constructor(store: Commit) {
    this.store = store;
  }

  /** Called when the lease of an instance has been over for long enough. */
  died(name: InstanceName): void {
    this.#dead.add(nameOf(name));
  }

  /** @param now ms since 1970; without it, no hold of a living instance counts as abandoned */
  async orphans(now = Number.NEGATIVE_INFINITY): Promise<readonly Orphan[]> {
    const isOrphan = ({ closing, owner, expiresAt }: MemoryReservation) =>
      closing === null && (this.#dead.has(nameOf(owner)) || expiresAt + FORGOTTEN_MS < now);
    return [...this.reservations.values()].filter(isOrphan).map(({ id, state, funds }) => ({
      ...{ id, reserved: state.amount, charged: state.charged },
      holder: funds.find(({ title }) => title.kind === 'balance')?.title.name ?? null,
    }));
  }

  standing(funds: readonly FundRef[]): readonly FundStanding[] {
    return funds.map((ref) => this.funds.look(ref));
  }

  windowsOf(budget: number, starts: number): readonly FundStanding[] {
    return this.funds.windowsOf(budget, starts);
  }

  balanceOf(holder: string): FundStanding | null {
    return this.funds.held(holder);
  }

  balances(): readonly FundStanding[] {
    return this.funds.balances;
  }

  find(id: number): MemoryReservation | undefined {
    return this.reservations.get(id);
  }

  async reservation(id: number) {
    const made = this.find(id);
    return made ? { isOpen: made.closing === null, charged: made.state.charged, givenBack: made.givenBack } : null;
  }

  /** Returns the IDs of open holds. */
  openIds(): number[] {
    return [...this.reservations.values()].filter(({ closing }) => closing === null).map(({ id }) => id);
  }

  open(): { count: number; held: number } {
    const open = [...this.reservations.values()].filter(({ closing }) => closing === null);
    return { count: open.length, held: open.reduce((sum, one) => sum + leftOf(one.state) + one.extending, 0) };
  }

  written(): Promise<boolean> {
    return this.store.written();
  }

  uncounted(budget: number, window: Window, owners?: readonly EntryOwner[]): UncountedCharges {
    return this.charges.uncounted(budget, this.funds.countedTo(budget), window, owners);
  }

  countedOf(budget: number, subjects: readonly string[]): ReadonlySet<string> {
    return this.funds.countedOf(budget, subjects);
  }

  async charged(): Promise<number> {
    return this.charges.charged;
  }

  async usage(filter: UsageFilter): Promise<readonly EndpointCharges[]> {
    return this.charges.usage(filter);
  }

  async spentIn(keyId: string, window: Window): Promise<number> {
    return this.charges.spentIn(keyId, window);
  }

  async checkpoint(): Promise<void> {}
}
