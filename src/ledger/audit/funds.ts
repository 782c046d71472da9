import { QUARTER_MS } from '../../core/accounting/window.ts';
import { timeOfId } from '../../core/id.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import { isAddress } from '../../core/money/holder-address.ts';
import { iso } from '../../core/time/clock.ts';
import type { FundRow } from '../../store/journal-reader.ts';
import { QuarterSums } from './memory.ts';

/** Reports a contradiction in the journal row that the audit is reading. */
type ReportFundFault = (kind: FundFault, message: string) => void;
export type FundFault = 'missing_fund' | 'foreign_fund' | 'outside_window' | 'overdrawn' | 'wrong_opening';

/**
 * A fund is a window of a budget, or a balance. Each start of a server and each change of the fund's limit adds a row for the fund to the
 * table `funds`.
 */
export interface FundGroup extends Pick<FundRow, 'kind' | 'name' | 'subject' | 'definition' | 'starts'> {
  readonly ends: number;
  readonly share: Share | null;
  /** The number of the latest row of `funds` for the fund. */
  row: number;
  /** The latest limit of the fund. */
  limit: Microcredits;
  spent: Microcredits;
  held: Microcredits;
  /** True if an overdraft of the fund was already reported. */
  isOver: boolean;
}

/** A row of `funds`. */
export interface AuditedFundRow {
  readonly group: FundGroup;
  readonly most: Microcredits;
  readonly counted: number | null;
  /**
   * True if the opening figure of the fund was checked. The check runs at the first draw, when the accounts that draw on the fund are
   * known.
   */
  isChecked: boolean;
}

/** The accounts whose charges a budget counts for one subject, over all windows. */
interface Share {
  readonly budget: Members;
  readonly own: Members;
}

/** A charge of an account; a refund has a negative amount. */
interface AuditedCharge {
  readonly seq: number;
  readonly account: number;
  readonly quarter: number;
  readonly amount: Microcredits;
  /** The funds in which the charge counted when it was made. */
  readonly draws: readonly AuditedFundRow[];
}

interface Members {
  readonly accounts: Set<number>;
  readonly sums: QuarterSums;
}

/** How long a charge may be missing in a budget that it did not draw on, ms. Servers count these charges every second. */
const COUNTED_WITHIN_MS = 60_000;

const newMembers = (): Members => ({ accounts: new Set(), sums: new QuarterSums() });

/** The name of a holder's balance in findings. */
export const balanceText = (holder: string): string =>
  `the balance of ${isAddress(holder) ? 'wallet' : 'key'} ${holder}`;

const groupName = ({ kind, name, subject, starts }: FundGroup): string => {
  if (kind === 'balance') return balanceText(name);
  const whose = subject === '' ? '' : ` of \`${subject}\``;
  return `the budget \`${name}\`${whose}${starts === 0 ? '' : ` from ${iso(starts)}`}`;
};

/**
 * Recomputes the funds from the journal. The audit shares no code with the ledger, because shared code would have the same mistakes in
 * both.
 *
 * It checks the opening figures of funds. A balance is used without a break from its first grant on, so the opening figure of a balance
 * must equal the sum spent so far. A budget may be removed and added again. A budget that was added again counts everything that its
 * accounts were charged in the window, from any fund, so its opening figure cannot be compared with the fund's own sum. The check of a
 * budget uses that an account and the definition of a budget alone determine whether the account belongs to a share:
 *
 * - An account that ever drew on the share always counts in it.
 * - An account that drew on another share of the same budget never counts in it.
 * - Only accounts that never drew on the budget are uncertain.
 *
 * The opening figure of a budget's window must therefore satisfy
 *
 *   charged to known members in the window ≤ spent ≤ charged to known members + charged to uncertain accounts.
 *
 * For a budget that applies to all accounts, both bounds are equal. The check runs when a row of `funds` is first drawn on; charges between
 * the row of `funds` and the first draw are in both figures. Servers with other limits also make charges that do not draw on the budget. The
 * row says up to which journal row they are counted, so both bounds leave out the later ones.
 */
export class AuditFunds {
  readonly #groups = new Map<string, FundGroup>();
  readonly #shares = new Map<string, Share>();
  readonly #budgets = new Map<string, Members>();
  readonly #rows = new Map<number, AuditedFundRow>();
  readonly #granted = new Map<string, Microcredits>();
  /** The charges of each account (`#charged`), and of all accounts together (`#all`). */
  readonly #charged = new Map<number, QuarterSums>();
  readonly #all = new QuarterSums();
  /** The shares that an account belongs to, and the budgets of these shares. */
  readonly #memberOf = new Map<number, Members[]>();
  readonly #report: ReportFundFault;
  /** The charges of the last `COUNTED_WITHIN_MS`, in the order of the journal. */
  readonly #late: (AuditedCharge & { readonly time: number })[] = [];
  /** The latest time of any row so far, ms since 1970. A row with an earlier time counts as if it had this time. */
  #time = 0;

  constructor(report: ReportFundFault) {
    this.#report = report;
  }

  get size(): number {
    return this.#groups.size;
  }

  /** Sets the time of the next row of the journal, ms since 1970. */
  pass(time: number): void {
    this.#time = Math.max(this.#time, time);
    while (this.#late[0] && this.#late[0].time < this.#time - COUNTED_WITHIN_MS) this.#late.shift();
  }

  /** Adds a row of `funds`. The caller must first read the journal up to `afterSeq` of the row. */
  introduce(row: FundRow): void {
    const { id, kind, name, subject, definition, starts, most, opening, counted } = row;
    const key = JSON.stringify([kind, name, subject, definition, starts]);
    const known = this.#groups.get(key);
    const group = known ?? this.#newGroup(key, row);
    if (kind === 'balance' && opening !== (known?.spent ?? 0)) {
      this.#report('wrong_opening', `${groupName(group)} opens with ${opening} spent, not ${known?.spent ?? 0}`);
    }
    group.spent = opening;
    group.limit = most;
    group.row = id;
    this.#rows.set(id, { group, most, counted, isChecked: kind === 'balance' || counted === null });
  }

  /** @returns the funds that a journal row names. A fund that does not exist is reported and left out. */
  named(text: string | null): AuditedFundRow[] {
    const draws: AuditedFundRow[] = [];
    for (const id of text?.split(' ') ?? []) {
      const draw = this.#rows.get(Number(id));
      if (draw) draws.push(draw);
      else this.#report('missing_fund', `names the fund ${id}, which does not exist`);
    }
    return draws;
  }

  /** Lets an account draw on funds for a reservation, and checks that each balance belongs to the holder who pays. */
  join(draws: readonly AuditedFundRow[], reservation: number, account: number, holder: string | null): void {
    const time = timeOfId(reservation);
    for (const draw of draws) {
      const { group } = draw;
      if (group.kind === 'balance' && group.name !== holder) {
        this.#report('foreign_fund', `draws on ${groupName(group)}, but ${holder} pays`);
      }
      if (time < group.starts || time >= group.ends) {
        this.#report(
          'outside_window',
          `draws on ${groupName(group)}, but was made at ${iso(time)}, outside of its window`,
        );
      }
      if (group.share) this.#enter(group.share, account);
      if (!draw.isChecked) this.#checkOpening(draw);
    }
  }

  hold(draws: readonly AuditedFundRow[], amount: Microcredits): void {
    for (const { group } of draws) group.held += amount;
  }

  /** Turns held money into spent money. A refund has a negative amount and no held money. */
  spend(draws: readonly AuditedFundRow[], amount: Microcredits, held: Microcredits): void {
    for (const { group } of draws) {
      group.held -= held;
      group.spent += amount;
    }
  }

  /**
   * Checks that the funds had the amount free that was just held.
   * @param by which limit to check against: the limit in the row that the entry names, or the latest limit
   */
  checkRoom(draws: readonly AuditedFundRow[], by: 'named' | 'latest'): void {
    for (const { group, most } of draws) {
      const budget = by === 'named' ? most : group.limit;
      const limit = group.kind === 'balance' ? this.granted(group.name) : budget;
      const over = group.spent + group.held - limit;
      // An overdraft is reported only once, because every later reservation would report the same mistake.
      if (over > 0 && !group.isOver) {
        const figures = `${group.spent} spent and ${group.held} held of ${limit}`;
        this.#report('overdrawn', `${groupName(group)} is overdrawn by ${over}: ${figures}`);
      }
      group.isOver = over > 0;
    }
  }

  count(charge: AuditedCharge): void {
    const { account, quarter, amount } = charge;
    this.#late.push({ ...charge, time: this.#time });
    this.#all.add(quarter, amount);
    this.#chargedTo(account).add(quarter, amount);
    for (const { sums } of this.#memberOf.get(account) ?? []) sums.add(quarter, amount);
  }

  grant(holder: string, amount: Microcredits): void {
    this.#granted.set(holder, this.granted(holder) + amount);
  }

  granted(holder: string): Microcredits {
    return this.#granted.get(holder) ?? 0;
  }

  /** @returns the balances of all keys and wallets with a grant or a deposit */
  balances(): Map<string, { granted: Microcredits; spent: Microcredits }> {
    const balances = new Map([...this.#granted].map(([keyId, granted]) => [keyId, { granted, spent: 0 }]));
    for (const { kind, name, spent } of this.#groups.values()) {
      const balance = kind === 'balance' && balances.get(name);
      if (balance) balance.spent = spent;
    }
    return balances;
  }

  /** @returns the funds for a time: every balance that was drawn on, and for each subject of a budget the window with the latest row */
  at(timeMs: number): FundGroup[] {
    const latest = new Map<string, FundGroup>();
    for (const group of this.#groups.values()) {
      if (timeMs < group.starts || timeMs >= group.ends) continue;
      const key = JSON.stringify([group.kind, group.name, group.subject]);
      const other = latest.get(key);
      if (!other || group.row > other.row) latest.set(key, group);
    }
    return [...latest.values()];
  }

  #newGroup(key: string, { kind, name, subject, definition, starts, ends }: FundRow): FundGroup {
    const share = kind === 'budget' ? this.#shareOf(name, definition, subject) : null;
    const empty = { row: 0, limit: 0, spent: 0, held: 0, isOver: false };
    const group = { kind, name, subject, definition, starts, ends: ends ?? Number.POSITIVE_INFINITY, share, ...empty };
    this.#groups.set(key, group);
    return group;
  }

  #shareOf(name: string, definition: string, subject: string): Share {
    const key = JSON.stringify([name, definition, subject]);
    const budgetKey = JSON.stringify([name, definition]);
    const budget = this.#budgets.getOrInsertComputed(budgetKey, newMembers);
    return this.#shares.getOrInsertComputed(key, () => ({ budget, own: newMembers() }));
  }

  #enter({ budget, own }: Share, account: number): void {
    for (const members of [own, budget]) {
      if (members.accounts.has(account)) continue;
      members.accounts.add(account);
      members.sums.addAll(this.#chargedTo(account));
      this.#memberOf.getOrInsert(account, []).push(members);
    }
  }

  #chargedTo(account: number): QuarterSums {
    return this.#charged.getOrInsertComputed(account, () => new QuarterSums());
  }

  #checkOpening(draw: AuditedFundRow): void {
    draw.isChecked = true;
    const { group, counted } = draw;
    if (!group.share || counted === null) return;
    const { starts, ends } = group;
    const { own, budget } = group.share;
    let least = own.sums.within(starts, ends);
    let unknown = this.#all.within(starts, ends) - budget.sums.within(starts, ends);
    for (let at = this.#late.length - 1; at >= 0 && this.#late[at]!.seq > counted; at--) {
      const { account, quarter, amount, draws } = this.#late[at]!;
      const isWithin = quarter * QUARTER_MS >= starts && quarter * QUARTER_MS < ends;
      if (!isWithin || draws.some((draw) => draw.group === group)) continue;
      if (own.accounts.has(account)) least -= amount;
      else if (!budget.accounts.has(account)) unknown -= amount;
    }
    if (group.spent >= least && group.spent <= least + unknown) return;
    const expected = unknown === 0 ? `${least}` : `${least} to ${least + unknown}`;
    this.#report('wrong_opening', `${groupName(group)} was counted as ${group.spent} spent, but should be ${expected}`);
  }
}
