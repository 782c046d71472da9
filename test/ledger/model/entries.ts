import type { Kind } from './calendar.ts';

export interface Who {
  readonly keyId: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly model: string;
}

export interface BudgetSpec {
  readonly name: string;
  readonly match: 'all' | 'team' | 'auto' | 'throws';
  readonly each: 'everyone' | 'key' | 'team' | 'throws';
  readonly window: Kind;
  readonly zone: string;
  readonly limit: number;
  readonly action: Action;
}

/** What happens to a request that does not fit. */
export type Action = 'cap' | 'reject' | 'downgrade';

export interface Terms {
  readonly budgets: readonly BudgetSpec[];
  readonly onCrash: 'charge' | 'release';
}

export interface Ask {
  readonly id: number;
  readonly who: Who;
  /** The wallet that pays instead of the caller; null for none. */
  readonly payer: string | null;
  /** What a payment in progress will add to the wallet's balance; null if the money is reserved at once instead of earmarked. */
  readonly expected: number | null;
  readonly amounts: readonly number[];
  /** If no pot rejects, a hold of this amount is enough; null if only the whole first amount is. */
  readonly least: number | null;
  /**
   * A hold takes more than this only up to half of the free money, or an eighth if others hold some. A hold takes less only if waiting
   * brings no more. Null if neither rule applies.
   */
  readonly ample: number | null;
  readonly limit: number | null;
  readonly waits: boolean;
  readonly expiresAt: number;
}

export interface Reservation extends Ask {
  /** The time in the ID of the entry. */
  readonly time: number;
  /** The holder whose balance the hold draws on, or null. The ledger decides this when it makes the hold. */
  readonly holder: string | null;
  readonly entries: Entry[];
  state: 'writing' | 'open' | 'closed';
  /** A raise that is being written: it is held, but cannot be charged yet. */
  raising: Entry | null;
  settlement: { charged: number; overrun: number } | null;
}

/** Money that is set aside for a payment in progress. */
export interface Earmarked extends Ask {
  readonly time: number;
  readonly holder: string;
  readonly amount: number;
}

export type EntryKind =
  | 'reserve'
  | 'raise'
  | 'post'
  | 'settle'
  | 'expire'
  | 'overrun'
  | 'correct'
  | 'grant'
  | 'deposit'
  | 'fee';

export interface Entry {
  readonly kind: EntryKind;
  readonly of: Reservation | null;
  readonly keyId: string;
  readonly amount: number;
  /** The payment that a deposit or a fee belongs to; empty for other entries. */
  readonly note: string;
  /** For a refund: the time of its booking. A window that was over at that time does not get the refund. */
  readonly at: number;
  /** The row of `adjustments` that it was made from; 0 for none. */
  readonly adjustment: number;
  /** True once a caller received the result of the written entry: no crash may lose the entry. */
  promised: boolean;
  /** For a deposit and its fee: true while the entry is being written, so that it does not count yet. */
  coming: boolean;
}

/** The entries of one commit: its last entry, and the entries before it. */
export interface Writing {
  readonly entry: Entry;
  readonly before: readonly Entry[];
}

export interface Pot {
  /** Identifies the pot: the same window of the same budget and subject has the same key. */
  readonly key: string;
  readonly kind: 'budget' | 'balance';
  readonly name: string;
  readonly subject: string;
  readonly starts: number;
  readonly ends: number;
  readonly limit: number;
  readonly action: Action;
  readonly spent: number;
  readonly held: number;
}

export interface Blocked {
  readonly why: 'exhausted' | 'contended';
  readonly pot: Pot;
  readonly needed: number;
}

export interface Adjustment {
  readonly id: number;
  readonly kind: 'grant' | 'correct';
  readonly keyId: string;
  readonly reservation: number | null;
  readonly amount: number;
}

/** The result of a request: how much it got, or why it got nothing. */
export type Answer = { readonly got: number } | Blocked;
export const isBlocked = (answer: Answer): answer is Blocked => 'why' in answer;

const EPOCH = Date.parse('2026-01-01T00:00:00Z');
export const timeOf = (id: number): number => EPOCH + Math.floor(id / 2 ** 13);

export const CHARGES: ReadonlySet<EntryKind> = new Set(['post', 'settle', 'expire']);
export const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0);

export const keyOf = ({ name, match, each, window, zone }: BudgetSpec, starts: number, subject: string): string =>
  JSON.stringify([name, match, each, window, zone, starts, subject]);

export function subjectOf({ match, each }: BudgetSpec, { keyId, labels, model }: Who): string | null {
  const team = labels.team ?? '';
  if ((match === 'team' && team === '') || (match === 'auto' && model !== 'auto')) return null;
  return each === 'key' ? keyId : each === 'team' ? team : '';
}

export const entryOf = (kind: EntryKind, of: Reservation, amount: number): Entry => ({
  kind,
  of,
  keyId: of.who.keyId,
  amount,
  note: '',
  at: 0,
  adjustment: 0,
  promised: false,
  coming: false,
});

/** True for an entry that changes only a balance. */
export const movesBalance = ({ kind }: Entry): boolean => kind === 'grant' || kind === 'deposit' || kind === 'fee';

export const isAddress = (holder: string): boolean => holder.startsWith('0x');

export const sumOf = ({ entries }: Reservation, ...kinds: EntryKind[]): number =>
  sum(entries.flatMap(({ kind, amount }) => (kinds.includes(kind) ? [amount] : [])));

/** The reserved amount, without a raise that is being written. */
export const reservedBy = (made: Reservation): number => sumOf(made, 'reserve', 'raise') - (made.raising?.amount ?? 0);
export const chargedTo = (made: Reservation): number => sumOf(made, 'post', 'settle', 'expire');
export const leftOf = (made: Reservation): number => (made.state === 'closed' ? 0 : reservedBy(made) - chargedTo(made));
export const heldBy = (made: Reservation): number => leftOf(made) + (made.raising?.amount ?? 0);

/** A cost that is impossible charges all that is left. */
export function chargeOf(made: Reservation, cost: number): { charged: number; overrun: number } {
  const left = leftOf(made);
  if (!Number.isSafeInteger(cost) || cost < 0) return { charged: left, overrun: 0 };
  return { charged: Math.min(cost, left), overrun: Math.max(0, cost - left) };
}

/** How much of an amount a pot must have. For a balance, a payment brings a part of it. */
export const needOf = ({ kind }: Pick<Pot, 'kind'>, amount: number, expected: number | null): number =>
  kind === 'balance' ? Math.max(0, amount - (expected ?? 0)) : amount;

/** The least amount that a request needs: less than its first amount only if no pot rejects. */
export const leastOf = (pots: readonly Pick<Pot, 'action'>[], { amounts, least }: Pick<Ask, 'amounts' | 'least'>) =>
  least === null || pots.some(({ action }) => action === 'reject') ? (amounts[0] ?? 0) : least;

/** The least amount that a request needs while it can wait: its ample amount, or everything that is not spent. */
function patientLeastOf(pots: readonly Pot[], ask: Ask): number {
  const least = leastOf(pots, ask);
  if (!ask.waits || ask.ample === null || ask.expected !== null) return least;
  return Math.max(least, Math.min(ask.ample, ask.amounts[0] ?? 0, ...pots.map(({ limit, spent }) => limit - spent)));
}

/** All pots must have the first amount, or the least amount. The request gets the highest amount that all pots have. */
export function fit(pots: readonly Pot[], ask: Ask, isLast = false): Answer {
  const { amounts, expected } = ask;
  // If the expected payment exceeds the amount, it may cover what a balance lacks.
  const need = ({ kind }: Pot, amount: number) => (kind === 'balance' ? amount - (expected ?? 0) : amount);
  const least = isLast ? leastOf(pots, ask) : patientLeastOf(pots, ask);
  const first = amounts[0] ?? 0;
  const exhausted = pots.find((pot) => pot.spent + need(pot, least) > pot.limit);
  const contended = pots.find((pot) => pot.spent + pot.held + need(pot, least) > pot.limit);
  if (exhausted) return { why: 'exhausted', pot: exhausted, needed: least };
  if (contended) return { why: 'contended', pot: contended, needed: least };
  const most = Math.min(...pots.map((pot) => pot.limit - pot.spent - pot.held - need(pot, 0)));
  if (most < first) {
    const part = most < 0 ? most : most >> (pots.some(({ held }) => held > 0) ? 3 : 1);
    return { got: ask.ample === null ? most : Math.max(least, part, Math.min(ask.ample, most)) };
  }
  // The amount of a fallback is held only if twice that amount is free.
  const fitting = amounts.filter((more) =>
    pots.every((pot) => {
      const used = pot.spent + pot.held;
      return used + need(pot, more) <= pot.limit && 2 * need(pot, more) <= Math.max(0, pot.limit - used);
    }),
  );
  return { got: Math.max(first, ...fitting) };
}
