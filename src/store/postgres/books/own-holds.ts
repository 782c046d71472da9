import { type HeldSum, post, settle } from '../../../core/accounting/held-sum.ts';
import type { Microcredits } from '../../../core/money/credits.ts';
import type { LedgerOp, OpResult } from '../../books.ts';

interface OwnHold {
  /** The amount that the hold may still be charged, microcredits. */
  readonly left: Microcredits;
  /** The amount charged so far, and the amount that upstreams billed in addition, which the operator pays. Amounts are in microcredits. */
  readonly charged: Microcredits;
  readonly overrun: Microcredits;
}

const UNCHARGED = { charged: 0, overrun: 0 };

/** The open holds of this process, as of the latest answer of the database. State: holds. */
export class OwnHolds {
  readonly #holds = new Map<number, OwnHold>();

  /**
   * Updates the holds of `ops`.
   * @param open the holds of `ops` that are open now, with the amount that each may still be charged, microcredits
   */
  take(ops: readonly LedgerOp[], open: readonly (readonly [id: number, left: Microcredits])[]): void {
    const before = new Map(open.map(([id]) => [id, this.#holds.get(id) ?? UNCHARGED]));
    for (const op of ops) if ('id' in op && typeof op.id === 'number') this.#holds.delete(op.id);
    for (const [id, left] of open) this.#holds.set(id, { ...before.get(id)!, left });
  }

  /** Adds the charges of posts to their holds. */
  told(ops: readonly LedgerOp[], results: readonly OpResult[]): void {
    for (const [at, op] of ops.entries()) {
      const result = results[at];
      const hold = op.kind === 'post' && this.#holds.get(op.id);
      if (!hold || result?.kind !== 'charged') continue;
      const { left, charged, overrun } = hold;
      this.#holds.set(op.id, { left, charged: charged + result.charged, overrun: overrun + result.overrun });
    }
  }

  get ids(): readonly number[] {
    return [...this.#holds.keys()];
  }

  /** The number of open holds, and the sum of the amounts that these holds hold, microcredits. */
  sum(): { count: number; held: Microcredits } {
    let held = 0;
    for (const { left } of this.#holds.values()) held += left;
    return { count: this.#holds.size, held };
  }

  /**
   * Computes the answer that the database will give to an operation in the spool. The hold belongs to this process. If another instance
   * ends the hold first, the database later corrects the charge to this result.
   * @returns null for an operation whose hold is not open
   */
  reckon(op: LedgerOp): OpResult | null {
    if (op.kind === 'waive') return { kind: 'granted', amount: op.fee };
    if (op.kind !== 'post' && op.kind !== 'settle') return null;
    const hold = this.#holds.get(op.id);
    if (!hold) return null;
    const { left, charged, overrun } = hold;
    const open: HeldSum = { state: 'pending', amount: charged + Math.min(left, op.most), charged, limit: null };
    const step = op.kind === 'post' ? post(open, op.entry.cost) : settle(open, op.entry?.cost ?? null);
    const after = { charged: charged + step.charged, overrun: overrun + step.excess };
    if (op.kind === 'post') {
      this.#holds.set(op.id, { left: left - step.charged, ...after });
      return { kind: 'charged', charged: step.charged, overrun: step.excess };
    }
    this.#holds.delete(op.id);
    return { kind: 'charged', ...after };
  }
}
