import type { Microcredits } from '../core/credits.ts';
import type { Store, Write } from '../store/store.ts';
import { type Accounts, payerOf } from './accounts.ts';
import type { Desk } from './desk.ts';
import type { Deposit } from './earmark.ts';
import type { Funds } from './funds.ts';

/** A deposit on its way to the disk. */
export interface Coming {
  readonly wallet: string;
  /** What it adds to the balance. */
  readonly adds: Microcredits;
  readonly writes: readonly Write[];
  /** Numbers of its rows. */
  readonly rows: readonly number[];
}

/**
 * Books what comes into the balances of wallets from outside. It counts once it is on the disk and not before: nobody
 * may spend what the journal could still lose.
 */
export class Deposits {
  readonly #store: Store;
  readonly #desk: Desk;
  readonly #accounts: Accounts;
  readonly #funds: Funds;
  readonly #coming = new Set<Coming>();

  constructor(store: Store, desk: Desk, accounts: Accounts, funds: Funds) {
    this.#store = store;
    this.#desk = desk;
    this.#accounts = accounts;
    this.#funds = funds;
  }

  /** Rejects with StoreError, and then nothing is booked. */
  async add(wallet: string, deposit: Deposit, also: readonly Write[]): Promise<void> {
    const coming = this.begin(wallet, deposit);
    try {
      await this.#store.commit([...coming.writes, ...also]);
      this.arrived(coming);
    } finally {
      this.#coming.delete(coming);
    }
  }

  /** Numbers the rows of a deposit, which must be given to the disk at once; `arrived` or `lost` must follow. */
  begin(wallet: string, deposit: Deposit): Coming {
    checkDeposit(deposit);
    const { paid, fee, note } = deposit;
    const account = this.#accounts.numberOfKey(payerOf(wallet));
    const rows: number[] = [];
    const writes: Write[] = [];
    const book = (kind: 'deposit' | 'fee', amount: Microcredits) => {
      if (amount === 0) return;
      writes.push(this.#desk.paid(kind, account, amount, note));
      rows.push(this.#desk.seq);
    };
    book('deposit', paid);
    book('fee', -fee);
    const coming = { wallet, adds: paid - fee, writes, rows };
    this.#coming.add(coming);
    return coming;
  }

  /** It is on the disk. */
  arrived(coming: Coming): void {
    this.#coming.delete(coming);
    if (coming.rows.length === 0) return;
    this.#desk.freed([this.#funds.grant(coming.wallet, coming.adds)]);
  }

  /** It could not be written. */
  lost(coming: Coming): void {
    this.#coming.delete(coming);
  }

  /** Gives back what was kept. */
  waive(wallet: string, fee: Microcredits, note: string): readonly Write[] {
    if (!(fee >= 0)) throw new RangeError(`cannot give back a fee of ${fee}`);
    if (fee === 0) return [];
    const write = this.#desk.paid('fee', this.#accounts.numberOfKey(payerOf(wallet)), fee, note);
    this.#desk.freed([this.#funds.grant(wallet, fee)]);
    return [write];
  }

  /** Rows that are being written, by wallet: whether they arrive is not known yet. */
  get coming(): ReadonlyMap<string, readonly number[]> {
    const byWallet = new Map<string, number[]>();
    for (const { wallet, rows } of this.#coming) {
      const known = byWallet.get(wallet);
      if (known) known.push(...rows);
      else byWallet.set(wallet, [...rows]);
    }
    return byWallet;
  }
}

/** Throws RangeError for what cannot be a deposit: a mistake of the program. A fee below 0 is given back. */
export function checkDeposit({ paid, fee }: Deposit): void {
  const isPossible = Number.isSafeInteger(paid) && Number.isSafeInteger(fee) && paid >= 0 && fee <= paid;
  if (!isPossible) throw new RangeError(`cannot book a deposit of ${paid} with a fee of ${fee}`);
}
