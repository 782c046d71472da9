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
  readonly downgrade: boolean;
}

export interface Terms {
  readonly budgets: readonly BudgetSpec[];
  readonly onCrash: 'charge' | 'release';
}

export interface Ask {
  readonly id: number;
  readonly who: Who;
  readonly amounts: readonly number[];
  readonly limit: number | null;
  readonly waits: boolean;
  readonly expiresAt: number;
}

export interface Reservation extends Ask {
  /** Of its ID. */
  readonly time: number;
  /** Whether it draws on its key's balance: that is settled when it is made. */
  readonly balance: boolean;
  readonly entries: Entry[];
  state: 'writing' | 'open' | 'closed';
  /** A raise that is being written: held, but not yet there to be charged. */
  raising: Entry | null;
  settlement: { charged: number; overrun: number } | null;
}

export type EntryKind = 'reserve' | 'raise' | 'post' | 'settle' | 'expire' | 'overrun' | 'correct' | 'grant';

export interface Entry {
  readonly kind: EntryKind;
  readonly of: Reservation | null;
  readonly keyId: string;
  readonly amount: number;
  /** Of a correction: whether the balance gets it back too. */
  readonly balance: boolean;
  /** Of a correction: when it was taken over. A window that was over by then does not get it back. */
  readonly at: number;
  /** The row of `adjustments` that it was made of; 0 for none. */
  readonly adjustment: number;
  /** Somebody was told that it is written: no crash may lose it. */
  promised: boolean;
}

export interface Pot {
  /** Names the pot: the same for the same window of the same budget and subject. */
  readonly key: string;
  readonly kind: 'budget' | 'balance';
  readonly name: string;
  readonly subject: string;
  readonly starts: number;
  readonly ends: number;
  readonly limit: number;
  readonly downgrade: boolean;
  readonly spent: number;
  readonly held: number;
}

export interface Blocked {
  readonly why: 'exhausted' | 'contended';
  readonly pot: Pot;
}

export interface Adjustment {
  readonly id: number;
  readonly kind: 'grant' | 'correct';
  readonly keyId: string;
  readonly reservation: number | null;
  readonly amount: number;
}

/** What became of a request: how much it got, or why not. */
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
  balance: false,
  at: 0,
  adjustment: 0,
  promised: false,
});

export const sumOf = ({ entries }: Reservation, ...kinds: EntryKind[]): number =>
  sum(entries.flatMap(({ kind, amount }) => (kinds.includes(kind) ? [amount] : [])));

/** Reserved, without a raise that is being written. */
export const reservedBy = (made: Reservation): number => sumOf(made, 'reserve', 'raise') - (made.raising?.amount ?? 0);
export const chargedTo = (made: Reservation): number => sumOf(made, 'post', 'settle', 'expire');
export const leftOf = (made: Reservation): number => (made.state === 'closed' ? 0 : reservedBy(made) - chargedTo(made));
export const heldBy = (made: Reservation): number => leftOf(made) + (made.raising?.amount ?? 0);

/** Of a cost that cannot be true, all that is left. */
export function chargeOf(made: Reservation, cost: number): { charged: number; overrun: number } {
  const left = leftOf(made);
  if (!Number.isSafeInteger(cost) || cost < 0) return { charged: left, overrun: 0 };
  return { charged: Math.min(cost, left), overrun: Math.max(0, cost - left) };
}

/** All pots must have the first amount; then the greatest that all have is taken. */
export function fit(pots: readonly Pot[], amounts: readonly number[]): Answer {
  const least = amounts[0] ?? 0;
  const exhausted = pots.find(({ limit, spent }) => spent + least > limit);
  const contended = pots.find(({ limit, spent, held }) => spent + held + least > limit);
  if (exhausted) return { why: 'exhausted', pot: exhausted };
  if (contended) return { why: 'contended', pot: contended };
  // A fallback's is only held where as much again is free.
  const fitting = amounts.filter((more) => pots.every(({ limit, spent, held }) => spent + held + 2 * more <= limit));
  return { got: Math.max(least, ...fitting) };
}
