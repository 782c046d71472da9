import { Fund, type FundRef, type FundStanding } from '../../../../src/ledger/rules/fund.ts';
import type { Window } from '../../../../src/ledger/rules/window.ts';
import type { Count, EndpointCharges, UsageFilter } from '../../../../src/store/books.ts';
import type { Store } from '../../../../src/store/store.ts';
import { MemoryCharges } from './charges.ts';
import { MemoryFunds } from './funds.ts';

/** What of a store books in memory need: their own figures are lost with the process. */
type Commit = Pick<Store, 'commit' | 'append' | 'written'>;

/** The readings of books in memory. */
export class MemoryReadings {
  protected readonly store: Commit;
  protected readonly funds = new MemoryFunds();
  protected readonly charges = new MemoryCharges();

  constructor(store: Commit) {
    this.store = store;
  }

  standing(funds: readonly FundRef[]): readonly FundStanding[] {
    return funds.map((ref) => this.funds.find(ref) ?? new Fund(ref.title, ref.limit, ref.opening));
  }

  balanceOf(holder: string): FundStanding | null {
    return this.funds.held(holder);
  }

  balances(): readonly FundStanding[] {
    return this.funds.balances;
  }

  written(): Promise<boolean> {
    return this.store.written();
  }

  count(): Promise<Count> {
    return this.charges.count();
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

  async refresh(): Promise<void> {}
  async checkpoint(): Promise<void> {}
}
