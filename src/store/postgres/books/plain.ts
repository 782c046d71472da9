import type { PostgresValue } from '../connection.ts';
import { arrayOf } from '../connection.ts';
import type { FundAnswer } from './known-funds.ts';
import HOLD from './plain-hold.sql' with { type: 'text' };
import SETTLE from './plain-settle.sql' with { type: 'text' };
import type { CalledOps, DrawingWireOp, WireOp, WireResult } from './wire.ts';

/** An operation that one prepared statement can decide. If the statement returns no row, the decide function must decide the operation. */
export interface PlainOp {
  readonly text: string;
  readonly values: readonly PostgresValue[];
  readonly resultOf: (row: PlainRow) => WireResult;
}

export interface PlainRow {
  /** The amount that was granted (of a hold) or charged in total (of a settlement), microcredits. */
  readonly first: number;
  /** For a settlement: the amount that upstreams billed beyond the hold, microcredits. */
  readonly second: number;
  /** JSON of `FundAnswer[]`; null for an operation without funds. */
  readonly figures: string | null;
}

/**
 * Finds the fast path for the most common group: exactly one hold or one settlement without attached writes.
 * @param awaited the IDs of the funds that requests of this process wait for. A hold on such a fund goes to the decide function.
 * @returns null for a group that has no fast path
 */
export function plainOf(owner: number, calls: readonly CalledOps[], awaited: ReadonlySet<number>): PlainOp | null {
  if (calls.length !== 1 || calls[0]!.also.length > 0 || calls[0]!.ops.length !== 1) return null;
  const [op, more] = calls[0]!.ops[0]!;
  if (!op || more) return null;
  if (isHold(op)) return op.funds!.some((fund) => awaited.has(fund)) ? null : plainHold(owner, op);
  return isSettlement(op) ? plainSettlement(owner, op) : null;
}

const isHold = (op: WireOp): op is DrawingWireOp => op.kind === 'hold';
/**
 * A settlement with an impossible cost needs the decide function, because such a settlement charges everything that is left of the hold.
 */
const isSettlement = (op: WireOp): op is DrawingWireOp => op.kind === 'settle' && op.cost !== null;

function plainHold(owner: number, { hold, at, account, funds, amounts, expires, note }: DrawingWireOp): PlainOp {
  const [first, ...others] = amounts!;
  return {
    text: HOLD,
    values: [owner, hold, account!, arrayOf(funds!), first!, arrayOf(others), expires ?? null, note ?? null, at],
    resultOf: (row) => ({
      answers: [[['granted', row.first]]],
      figures: figuresOf(row),
      openHolds: [[hold, row.first]],
    }),
  };
}

function plainSettlement(owner: number, op: DrawingWireOp): PlainOp {
  const { hold, at, most, cost = 0, tariff = null, usage = NO_USAGE, estimated = null, note = null } = op;
  const isEstimated = estimated === null ? null : `${estimated}`;
  return {
    text: SETTLE,
    values: [owner, hold, cost, most!, at, tariff, ...usage, isEstimated, note],
    resultOf: (row) => ({
      answers: [[['charged', row.first, row.second]]],
      figures: figuresOf(row),
      openHolds: [],
    }),
  };
}

const NO_USAGE = [null, null, null, null, null] as const;

const figuresOf = ({ figures }: PlainRow): readonly FundAnswer[] => (figures === null ? [] : JSON.parse(figures));
