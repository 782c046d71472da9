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

/** The effect on a request that does not fit. */
export type Action = 'cap' | 'reject' | 'downgrade';

export interface Terms {
  readonly budgets: readonly BudgetSpec[];
  readonly onCrash: 'charge' | 'release';
}

export interface Ask {
  readonly id: number;
  readonly who: Who;
  /** The wallet that pays in place of who asks; null for none. */
  readonly payer: string | null;
  /** What a payment under way is to add to the wallet's balance; null where nothing is earmarked but reserved at once. */
  readonly expected: number | null;
  readonly amounts: readonly number[];
  /** A hold of so much will do where no pot rejects; null for the whole first amount. */
  readonly least: number | null;
  /** More is held only of half of what there is, or of an eighth in company, and less only where waiting brings no more; null for neither. */
  readonly ample: number | null;
  readonly limit: number | null;
  readonly waits: boolean;
  readonly expiresAt: number;
}

export interface Reservation extends Ask {
  /** Of its ID. */
  readonly time: number;
  /** Whose balance it draws on, if any: that is settled when it is made. */
  readonly holder: string | null;
  readonly entries: Entry[];
  state: 'writing' | 'open' | 'closed';
  /** A raise that is being written: held, but not yet there to be charged. */
  raising: Entry | null;
  settlement: { charged: number; overrun: number } | null;
}

/** Money that is set aside for a payment under way. */
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
  /** The payment that a deposit or a fee is of; empty for others. */
  readonly note: string;
  /** Of a correction: when it was taken over. A window that was over by then does not get it back. */
  readonly at: number;
  /** The row of `adjustments` that it was made of; 0 for none. */
  readonly adjustment: number;
  /** Somebody was told that it is written: no crash may lose it. */
  promised: boolean;
  /** Of a deposit and its fee: it is being written, and counts for nobody yet. */
  coming: boolean;
}

/** What is written in one commit: its last entry, behind those that stand before it. */
export interface Writing {
  readonly entry: Entry;
  readonly before: readonly Entry[];
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
  note: '',
  at: 0,
  adjustment: 0,
  promised: false,
  coming: false,
});

/** What moves a balance alone. */
export const movesBalance = ({ kind }: Entry): boolean => kind === 'grant' || kind === 'deposit' || kind === 'fee';

export const isAddress = (holder: string): boolean => holder.startsWith('0x');

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

/** What of an amount a pot must have: of a balance a payment brings some. */
export const needOf = ({ kind }: Pick<Pot, 'kind'>, amount: number, expected: number | null): number =>
  kind === 'balance' ? Math.max(0, amount - (expected ?? 0)) : amount;

/** What a request must have at least: less than its first amount only where no pot rejects. */
export const leastOf = (pots: readonly Pick<Pot, 'action'>[], { amounts, least }: Pick<Ask, 'amounts' | 'least'>) =>
  least === null || pots.some(({ action }) => action === 'reject') ? (amounts[0] ?? 0) : least;

/** What it must have while it can wait for more: an ample hold, or all that is not spent. */
function patientLeastOf(pots: readonly Pot[], ask: Ask): number {
  const least = leastOf(pots, ask);
  if (!ask.waits || ask.ample === null || ask.expected !== null) return least;
  return Math.max(least, Math.min(ask.ample, ask.amounts[0] ?? 0, ...pots.map(({ limit, spent }) => limit - spent)));
}

/** All pots must have the first amount, or what will do; then the greatest that all have is taken. */
export function fit(pots: readonly Pot[], ask: Ask, isLast = false): Answer {
  const { amounts, expected } = ask;
  // What is expected beyond the amount may make good what a balance lacks.
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
  // A fallback's is only held where as much again is free.
  const fitting = amounts.filter((more) =>
    pots.every((pot) => {
      const used = pot.spent + pot.held;
      return used + need(pot, more) <= pot.limit && 2 * need(pot, more) <= Math.max(0, pot.limit - used);
    }),
  );
  return { got: Math.max(first, ...fitting) };
}
