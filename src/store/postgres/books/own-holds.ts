import { type HeldSum, post, settle } from '../../../core/accounting/held-sum.ts';
import type { Microcredits } from '../../../core/credits.ts';
import type { LedgerOp, OpResult } from '../../books.ts';

interface OwnHold {
  /** What it may still be charged. */
  readonly left: Microcredits;
  /** What it was charged, and what upstreams billed beyond. */
  readonly charged: Microcredits;
  readonly overrun: Microcredits;
}

const UNCHARGED = { charged: 0, overrun: 0 };

/** The open holds of this process, as the database told them last. State: holds. */
export class OwnHolds {
  readonly #holds = new Map<number, OwnHold>();

  /** @param open those of the operations' holds that are open, with what they may still be charged */
  take(ops: readonly LedgerOp[], open: readonly (readonly [id: number, left: Microcredits])[]): void {
    const before = new Map(open.map(([id]) => [id, this.#holds.get(id) ?? UNCHARGED]));
    for (const op of ops) if ('id' in op && typeof op.id === 'number') this.#holds.delete(op.id);
    for (const [id, left] of open) this.#holds.set(id, { ...before.get(id)!, left });
  }

  /** Notes the charges of failed attempts. */
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

  /** All of them. */
  sum(): { count: number; held: Microcredits } {
    let held = 0;
    for (const { left } of this.#holds.values()) held += left;
    return { count: this.#holds.size, held };
  }

  /**
   * The answer that the database will give to an operation which the spool keeps: the hold is this process's, and one that others end
   * meanwhile is corrected to it. Null for an operation that is not on an open hold.
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
