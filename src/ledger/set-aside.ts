import type { Microcredits } from '../core/credits.ts';
import { timeOfId } from '../core/id.ts';
import type { LedgerBooks } from '../store/books.ts';
import type { Account } from './accounts.ts';
import type { Contention } from './contention.ts';
import type { DrawnFund } from './drawn-fund.ts';
import type { Funds } from './funds.ts';
import type { ReservationRequest } from './reservation-request.ts';
import { type FundBlock, fit, isBlocked } from './rules/fund.ts';
import { type FundShortage, shortage } from './standing.ts';

export interface Setting {
  readonly books: Pick<LedgerBooks, 'standing'>;
  readonly funds: Funds;
  readonly contention: Contention;
}

/** A request for money. */
export interface MoneyRequest {
  readonly order: ReservationRequest;
  readonly account: Account;
  /** Microcredits that a payment under way will add to the balance. */
  readonly expected: Microcredits;
}

/** Asks the books for money of these funds. Resolves with the hold or earmark, or with the shortage. */
export type Send<Made> = (request: MoneyRequest, funds: readonly DrawnFund[]) => Promise<Made | FundShortage>;

/**
 * Takes the amount that all funds of an account have free, waiting for it where that helps. The figures of the funds decide
 * only who waits; whether there is money, the books decide.
 */
export function setAside<Made>(
  setting: Setting,
  request: MoneyRequest,
  send: Send<Made>,
): Promise<Made | FundShortage> {
  const { books, funds, contention } = setting;
  const { order, account, expected } = request;
  const { id, amounts, waitMs } = order;
  const drawn = funds.of(account, timeOfId(id));
  const line = contention.lineBefore(drawn);
  if (line < 0 && (waitMs <= 0 || drawn.length === 0)) return send(request, drawn);
  const standings = books.standing(drawn);
  const fitting = fit(standings, amounts, expected);
  if (isBlocked(fitting)) {
    return fitting.why === 'contended' ? waitFor(fitting, setting, request, send) : send(request, drawn);
  }
  // Requests that wait for one of the funds come first.
  if (line >= 0) return waitFor({ fund: standings[line]!, why: 'contended' }, setting, request, send);
  return send(request, drawn);
}

async function waitFor<Made>(
  blocked: FundBlock,
  { books, funds, contention }: Setting,
  request: MoneyRequest,
  send: Send<Made>,
): Promise<Made | FundShortage> {
  const { order, account, expected } = request;
  const { id, amounts, waitMs, signal } = order;
  let sent: Promise<Made | FundShortage> | null = null;
  const attempt = () => {
    // The budgets may have changed since.
    const drawn = funds.of(account, timeOfId(id));
    const fitting = fit(books.standing(drawn), amounts, expected);
    if (isBlocked(fitting)) return fitting;
    sent = send(request, drawn);
    return null;
  };
  const obstacle = await contention.wait(blocked, waitMs, attempt, signal);
  if (obstacle) return shortage(obstacle, amounts[0]);
  if (sent === null) throw new Error('an attempt that succeeded sent nothing');
  return sent;
}
