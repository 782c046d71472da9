import type { Microcredits } from '../core/credits.ts';
import { timeOfId } from '../core/id.ts';
import type { LedgerBooks } from '../store/books.ts';
import type { Account } from './accounts.ts';
import type { Contention } from './contention.ts';
import type { DrawnFund } from './drawn-fund.ts';
import type { Funds } from './funds.ts';
import type { Order } from './order.ts';
import { type Blocked, fit, isBlocked } from './rules/fund.ts';
import { type Shortage, shortage } from './standing.ts';

export interface Setting {
  readonly books: Pick<LedgerBooks, 'standing'>;
  readonly funds: Funds;
  readonly contention: Contention;
}

interface Request {
  readonly order: Order;
  readonly account: Account;
  /** Microcredits that a payment under way will add to the balance. */
  readonly expected: Microcredits;
}

/** Asks the books for money of these funds. Resolves with what was made of it, or with the fund that is in the way. */
export type Send<Made> = (account: Account, funds: readonly DrawnFund[]) => Promise<Made | Blocked>;

/**
 * Takes the amount that all funds of an account have free, waiting for it where that helps. The figures of the funds decide
 * only who waits; whether there is money, the books decide.
 */
export async function setAside<Made extends object>(
  { books, funds, contention }: Setting,
  { order, account, expected }: Request,
  send: Send<Made>,
): Promise<Made | Shortage> {
  const { id, amounts, waitMs, signal } = order;
  const time = timeOfId(id);
  const drawn = funds.of(account, time);
  let sent: Promise<Made | Blocked> | null = null;
  const line = contention.lineBefore(drawn);
  // Nobody overtakes those who wait for one of the funds.
  if (line >= 0 || (waitMs > 0 && drawn.length > 0)) {
    const standings = books.standing(drawn);
    const fitting = fit(standings, amounts, expected);
    const blocked = isBlocked(fitting)
      ? fitting
      : line < 0
        ? null
        : ({ fund: standings[line]!, why: 'contended' } as const);
    if (blocked?.why === 'contended') {
      const attempt = () => {
        // The budgets may have changed since.
        const present = funds.of(account, time);
        const taken = fit(books.standing(present), amounts, expected);
        if (isBlocked(taken)) return taken;
        sent = send(account, present);
        return null;
      };
      const obstacle = await contention.wait(blocked, waitMs, attempt, signal);
      if (obstacle) return shortage(obstacle, amounts[0]);
    }
  }
  const made = await (sent ?? send(account, drawn));
  return 'why' in made ? shortage(made, amounts[0]) : made;
}
