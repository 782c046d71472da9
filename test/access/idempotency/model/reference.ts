/**
 * The expected state of one idempotency key of one API key, written independently of the tested code. After a crash, several states are
 * possible, and later answers rule some of them out.
 */
export interface State {
  /** `orphan`: the request was running when the process died. */
  readonly kind: 'none' | 'running' | 'orphan' | 'lost' | 'kept';
  readonly body: string;
  readonly secret: string;
  readonly losses: number;
  /** The time of the last change, ms. */
  readonly time: number;
  readonly answer: string;
  /**
   * Charges that a repeat gets refunded. Charges of an `orphan` are refunded before the repeat is paid for; charges of `running` and `lost`
   * up to the repeat's own charge.
   */
  readonly owed: readonly number[];
  /** The charges of all requests with the key, minus refunds. */
  readonly total: number;
}

export interface Submission {
  readonly body: string;
  readonly secret: string;
}

export type CallerAnswer =
  | { readonly kind: 'run' | 'in-flight' | 'reused' | 'unavailable' }
  | { readonly kind: 'replay'; readonly answer: string }
  | { readonly kind: 'paid' | 'refused'; readonly givenBack: number }
  | { readonly kind: 'ended' };

export interface Next {
  readonly answer: CallerAnswer;
  readonly state: State;
}

/** The ways a paid request ends. */
export type Ending =
  | { readonly how: 'answer'; readonly cost: number; readonly answer: string }
  | { readonly how: 'loss'; readonly cost: number }
  | { readonly how: 'free' };

export const DAY_MS = 86_400_000;
const LOSSES_MAX = 3;

export const NONE: State = { kind: 'none', body: '', secret: '', losses: 0, time: 0, answer: '', owed: [], total: 0 };
const sum = (figures: readonly number[]): number => figures.reduce((total, figure) => total + figure, 0);

function presentOf(state: State, now: number): State {
  const isTerminal = state.kind === 'orphan' || state.kind === 'lost' || state.kind === 'kept';
  return isTerminal && state.time <= now - DAY_MS ? { ...NONE, total: state.total } : state;
}

export function claimed(before: State, { body, secret }: Submission, now: number): Next {
  const state = presentOf(before, now);
  const tell = (kind: 'in-flight' | 'reused' | 'unavailable'): Next => ({ answer: { kind }, state });
  if (state.kind === 'running') return tell(body === state.body ? 'in-flight' : 'reused');
  if (state.kind !== 'none') {
    if (secret !== state.secret) return tell('unavailable');
    if (body !== state.body) return tell('reused');
    if (state.kind === 'kept') return { answer: { kind: 'replay', answer: state.answer }, state };
    if (state.losses >= LOSSES_MAX) return tell('unavailable');
  }
  const run: State = { ...state, kind: 'running', body, secret, time: now, answer: '' };
  const given = state.kind === 'orphan' ? sum(state.owed) : 0;
  const owed = state.kind === 'lost' ? state.owed : [];
  return { answer: { kind: 'run' }, state: { ...run, owed, total: state.total - given } };
}

/** Reserves the money, or fails to. `before` is the state when the request arrived. */
export function reserved(state: State, before: State, isPaid: boolean, now: number): Next {
  const given = before.kind === 'orphan' && presentOf(before, now).kind === 'orphan' ? sum(before.owed) : 0;
  if (isPaid) return { answer: { kind: 'paid', givenBack: given }, state };
  return { answer: { kind: 'refused', givenBack: given }, state: dropped(state, now) };
}

function dropped(state: State, now: number): State {
  if (state.losses === 0) return { ...NONE, total: state.total };
  return { ...state, kind: 'lost', time: now };
}

export function ended(state: State, ending: Ending, now: number): Next {
  const answer: CallerAnswer = { kind: 'ended' };
  if (ending.how === 'free') return { answer: answer, state: dropped(state, now) };
  const charged = {
    ...state,
    time: now,
    owed: [ending.cost],
    total: state.total + ending.cost - givenFor(state, ending.cost),
  };
  if (ending.how === 'loss') return { answer: answer, state: { ...charged, kind: 'lost', losses: state.losses + 1 } };
  return { answer: answer, state: { ...charged, kind: 'kept', answer: ending.answer } };
}

/** Never more than the charge of the repeat, because the caller may have read the lost answer. */
const givenFor = ({ owed }: State, cost: number): number => Math.min(sum(owed), cost);

/** The process died in this state. `byRule` is the charge of a running request. */
export function crashed(state: State, byRule: number): State {
  if (state.kind !== 'running') return state;
  return { ...state, kind: 'orphan', owed: [byRule, ...state.owed], total: state.total + byRule };
}

/** Returns the possible states if the process died while a request arrived. */
export function crashedAsking(before: State, submission: Submission, byRule: number, now: number): State[] {
  const was = presentOf(before, now);
  const { answer, state: run } = claimed(was, submission, now);
  if (answer.kind !== 'run') return [crashed(was, byRule)];
  const all: State[] = [was];
  // Charges of orphans may already be refunded.
  if (was.kind === 'orphan') {
    was.owed.forEach((_, at) => {
      const given = sum(was.owed.slice(0, at + 1));
      all.push({ ...was, owed: was.owed.map((one, i) => (i <= at ? 0 : one)), total: was.total - given });
    });
  }
  // The claim was written and then the money reserved, or the claim was refused and dropped.
  all.push(crashed(run, 0), crashed(run, byRule), dropped(run, now));
  return all;
}

/** Returns the possible states if the process died while a request ended. */
export function crashedEnding(state: State, ending: Ending, byRule: number, now: number): State[] {
  const cost = ending.how === 'free' ? 0 : ending.cost;
  const given = givenFor(state, cost);
  const returned = { ...state, owed: [sum(state.owed) - given], total: state.total - given };
  return [crashed(state, byRule), crashed(state, cost), crashed(returned, cost), ended(state, ending, now).state];
}
