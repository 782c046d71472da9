import { type FundRef, type FundTitle, fundName } from '../core/accounting/fund.ts';
import { timeOfId } from '../core/id.ts';

/** The open requests that hold money of one fund. */
export interface FundHolds {
  readonly open: number;
  /** When the oldest of these requests was decided, ms since 1970. */
  readonly oldestAt: number;
}

/**
 * The requests that are open now, by the funds whose money they hold. They are counted on demand, so that counting costs requests no time.
 */
export class OpenHolds {
  readonly #byFund = new Map<string, FundHolds>();

  /** @param made the open holds, and the earmarks of payments in progress */
  constructor(made: Iterable<{ readonly id: number; readonly funds: readonly Pick<FundRef, 'title'>[] }>) {
    for (const { id, funds } of made) {
      for (const { title } of funds) {
        const name = fundName(title);
        const { open, oldestAt } = this.#byFund.get(name) ?? NO_HOLDS;
        this.#byFund.set(name, { open: open + 1, oldestAt: Math.min(oldestAt, timeOfId(id)) });
      }
    }
  }

  of(title: FundTitle): FundHolds {
    return (this.#byFund.size > 0 && this.#byFund.get(fundName(title))) || NO_HOLDS;
  }
}

const NO_HOLDS: FundHolds = { open: 0, oldestAt: Number.POSITIVE_INFINITY };

/** @returns the age of the oldest open hold, ms; 0 if there is no open hold */
export const holdAge = ({ open, oldestAt }: FundHolds, now: number): number =>
  open === 0 ? 0 : Math.max(0, now - oldestAt);
