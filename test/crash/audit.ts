import { type Booked, type Journal, leftOf } from './journal.ts';
import type { Sent } from './load.ts';
import type { Upstreams } from './upstreams.ts';

/** The effects of a crash on the requests of one run, as clients and upstreams report them. Amounts are microcredits. */
export interface Findings {
  /** All laws that were broken. */
  readonly problems: string[];
  /** The number of answers that reached their clients complete. */
  readonly answered: number;
  /** The number of streams that had shown content and did not end. */
  readonly cut: number;
  readonly orphans: number;
  /** What orphans held when the process died. */
  readonly held: number;
  /** What upstreams bill for orphans, beyond what the journal had charged for them. */
  readonly unknown: number;
}

type Counts = { -readonly [Name in keyof Findings]: Findings[Name] };
type Billing = Pick<Upstreams, 'billed'>;

/**
 * Compares what clients were told and what upstreams billed with the journal that the crash left.
 * @param known the holds made before this run, which are ignored
 */
export function audit(sent: readonly Sent[], left: Journal, known: ReadonlySet<number>, upstreams: Billing): Findings {
  const found: Counts = { problems: [...left.problems], answered: 0, cut: 0, orphans: 0, held: 0, unknown: 0 };
  const news = [...left.reservations.values()].filter(({ id }) => !known.has(id));
  const byWallet = new Map(
    news.flatMap((booked) => (booked.wallet === null ? [] : [[booked.wallet, booked] as const])),
  );
  const rest = new Set(news);
  /** Requests whose hold is unknown, so that only their sum can be compared. */
  const nameless: Sent[] = [];
  for (const one of sent) {
    const byId = one.reservation === null ? undefined : left.reservations.get(one.reservation);
    const booked = byId ?? (one.wallet === null ? undefined : byWallet.get(one.wallet));
    checkTold(one, booked, found);
    if (one.shown && one.told === null) found.cut++;
    if (booked) {
      rest.delete(booked);
      checkBill(`request ${one.request}`, [booked], upstreams.billed(one.request), found);
    } else if (one.wallet !== null || one.reservation !== null) {
      const bill = upstreams.billed(one.request);
      if (bill > 0) found.problems.push(`request ${one.request}: the upstreams were called, but nothing was reserved`);
    } else nameless.push(one);
  }
  const bill = nameless.reduce((sum, { request }) => sum + upstreams.billed(request), 0);
  checkBill(`${nameless.length} requests without a name`, [...rest], bill, found);
  return found;
}

/** A client with a complete answer was told what the ledger charged. */
function checkTold({ request, told, reservation }: Sent, booked: Booked | undefined, found: Counts): void {
  if (told === null) return;
  found.answered++;
  if (!booked) found.problems.push(`request ${request}: was told ${told}, but reservation ${reservation} is lost`);
  else if (booked.closings[0] !== 'settle') {
    found.problems.push(`request ${request}: was told ${told}, but its settlement is lost`);
  } else if (booked.charged !== told) {
    found.problems.push(`request ${request}: was told ${told}, but charged ${booked.charged}`);
  }
}

/** Settled requests were charged what the upstreams billed. What is still held covers the rest. */
function checkBill(who: string, booked: readonly Booked[], bill: number, found: Counts): void {
  const charged = booked.reduce((sum, one) => sum + one.charged, 0);
  const open = booked.filter(({ closings }) => closings.length === 0);
  const held = open.reduce((sum, one) => sum + leftOf(one), 0);
  const unknown = bill - charged;
  if (unknown < 0 || unknown > held) {
    found.problems.push(`${who}: billed ${bill}, charged ${charged}, but only ${held} is held for the rest`);
  }
  found.orphans += open.length;
  found.held += held;
  found.unknown += unknown;
}

/** Checks the start after a crash: it must close each orphan once, by the rule of the policy, and change nothing else. */
export function recoveryProblems(before: Journal, after: Journal, rule: 'charge' | 'release'): string[] {
  const problems = [...after.problems];
  for (const [id, was] of before.reservations) {
    const is = after.reservations.get(id);
    if (!is) problems.push(`reservation ${id} is lost`);
    else if (was.closings.length > 0) {
      if (JSON.stringify(is) !== JSON.stringify({ ...was, funds: is.funds }))
        problems.push(`${id} was closed before, but has changed`);
    } else {
      const due = rule === 'charge' ? leftOf(was) : 0;
      if (is.closings.join() !== 'expire')
        problems.push(`orphan ${id} was closed by ${is.closings.join() || 'nothing'}`);
      if (is.expired !== due) problems.push(`orphan ${id} was charged ${is.expired}, but should be charged ${due}`);
      if (is.charged !== was.charged || is.reserved !== was.reserved) problems.push(`orphan ${id} has other rows`);
    }
  }
  return problems;
}
