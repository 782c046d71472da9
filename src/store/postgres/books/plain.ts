import type { Microcredits } from '../../../core/money/credits.ts';
import { arrayOf, type PostgresValue } from '../connection.ts';
import { Places } from './grouped-ops.ts';
import type { FundAnswer } from './known-funds.ts';
import GROUP from './plain-group.sql' with { type: 'text' };
import HOLD from './plain-hold.sql' with { type: 'text' };
import SETTLE from './plain-settle.sql' with { type: 'text' };
import type { CalledOps, DrawingWireOp, WireAnswer, WireResult } from './wire.ts';

/** A group that one prepared statement can decide. If the statement returns no row, the decide function must decide the group. */
export interface PlainGroup {
  readonly text: string;
  readonly values: readonly PostgresValue[];
  readonly resultOf: (row: PlainRow) => WireResult;
}

/** The answer to a lone operation; for a larger group, JSON of the answers to its settlements. Amounts are microcredits. */
export interface PlainRow {
  /** The amount that was granted (of a hold) or charged in total (of a settlement). */
  readonly first: number | string;
  /** For a settlement: the amount that upstreams billed beyond the hold. */
  readonly second: number | string;
  /** JSON of `FundAnswer[]`; null for operations without funds. */
  readonly figures: string | null;
}

/**
 * Finds the fast path for the most common groups: new holds and settlements without attached writes.
 * @param awaited the IDs of the funds that requests of this process wait for. A hold on such a fund goes to the decide function.
 * @returns null for a group that has no fast path
 */
export function plainOf(owner: number, calls: readonly CalledOps[], awaited: ReadonlySet<number>): PlainGroup | null {
  const ops: DrawingWireOp[] = [];
  const ids = new Set<number>();
  for (const { ops: encoded, also } of calls) {
    const [op, ...more] = encoded.length === 1 ? encoded[0]! : [];
    if (!op || more.length > 0 || also.length > 0 || !isPlain(op)) return null;
    if (awaited.size > 0 && op.funds?.some((fund) => awaited.has(fund))) return null;
    ops.push(op);
    ids.add(op.hold);
  }
  // Several operations on one hold depend on each other.
  if (ids.size < ops.length) return null;
  const [first, second] = ops;
  if (!first) return null;
  if (second) return plainGroup(owner, ops);
  return first.kind === 'hold' ? plainHold(owner, first) : plainSettlement(owner, first);
}

/**
 * A settlement with an impossible cost needs the decide function, because such a settlement charges everything that is left of the hold.
 */
const isPlain = (op: CalledOps['ops'][number][number]): op is DrawingWireOp =>
  op.kind === 'hold' || (op.kind === 'settle' && op.cost !== null);

function plainHold(owner: number, { hold, at, account, funds, amounts, expires, note }: DrawingWireOp): PlainGroup {
  const [first, ...others] = amounts!;
  return {
    text: HOLD,
    values: [owner, hold, account!, arrayOf(funds!), first!, arrayOf(others), expires ?? null, note ?? null, at],
    resultOf: (row) => ({
      answers: [[['granted', Number(row.first)]]],
      figures: figuresOf(row),
      openHolds: [[hold, Number(row.first)]],
    }),
  };
}

function plainSettlement(owner: number, op: DrawingWireOp): PlainGroup {
  return {
    text: SETTLE,
    values: [owner, ...SETTLEMENT_COLUMNS.map((column) => column(op))],
    resultOf: (row) => ({
      answers: [[['charged', Number(row.first), Number(row.second)]]],
      figures: figuresOf(row),
      openHolds: [],
    }),
  };
}

type Column = (op: DrawingWireOp) => PostgresValue;

/** The parameters of a settlement after the owner, in `plain-settle.sql`. */
const SETTLEMENT_COLUMNS: readonly Column[] = [
  ({ hold }) => hold,
  ({ cost }) => cost ?? 0,
  ({ most }) => most!,
  ({ at }) => at,
  ({ tariff }) => tariff ?? null,
  ({ bill }) => bill ?? null,
  ({ estimated }) => (estimated === undefined ? null : `${estimated}`),
];

/** The amount that a hold of a group gets if its funds have enough free for the whole group. */
const wholeOf = ({ amounts }: DrawingWireOp): Microcredits => Math.max(...amounts!);

function plainGroup(owner: number, ops: readonly DrawingWireOp[]): PlainGroup {
  const holds: number[] = [];
  const settlements: number[] = [];
  for (const [place, { kind }] of ops.entries()) (kind === 'hold' ? holds : settlements).push(place);
  const valuesAt = (places: readonly number[], column: Column) => arrayOf(places.map((place) => column(ops[place]!)));
  const fundSets = new Places<string>();
  const holdColumns: readonly Column[] = [
    ({ hold }) => hold,
    ({ account }) => account!,
    ({ funds }) => fundSets.of(arrayOf(funds!)),
    wholeOf,
    ({ expires }) => expires ?? null,
    ({ note }) => note ?? null,
    ({ at }) => at,
  ];
  const needs = [...needsOf(holds.map((place) => ops[place]!))];
  return {
    text: GROUP,
    values: [
      owner,
      arrayOf(holds),
      ...holdColumns.map((column) => valuesAt(holds, column)),
      arrayOf(fundSets.all),
      arrayOf(needs.map(([fund]) => fund)),
      arrayOf(needs.map(([, { held }]) => held)),
      arrayOf(needs.map(([, { held, more }]) => held + more)),
      arrayOf(settlements),
      ...SETTLEMENT_COLUMNS.map((column) => valuesAt(settlements, column)),
    ],
    resultOf: (row) => {
      const charged: readonly Microcredits[] = JSON.parse(`${row.first}`);
      const overruns: readonly Microcredits[] = JSON.parse(`${row.second}`);
      const answers = ops.map((op): WireAnswer[] => [['granted', op.kind === 'hold' ? wholeOf(op) : 0]]);
      for (const [at, place] of settlements.entries()) answers[place] = [['charged', charged[at]!, overruns[at]!]];
      const openHolds = holds.map((place) => [ops[place]!.hold, wholeOf(ops[place]!)] as const);
      return { answers, figures: figuresOf(row), openHolds };
    },
  };
}

/**
 * The needs of holds from each of their funds: the sum of their amounts, and the highest amount of a hold that gets more than its first
 * amount, because such a hold needs twice its amount.
 */
function needsOf(holds: readonly DrawingWireOp[]): ReadonlyMap<number, { held: Microcredits; more: Microcredits }> {
  const needs = new Map<number, { held: Microcredits; more: Microcredits }>();
  for (const hold of holds) {
    const amount = wholeOf(hold);
    const more = amount > hold.amounts![0]! ? amount : 0;
    for (const fund of hold.funds!) {
      const need = needs.get(fund);
      if (!need) needs.set(fund, { held: amount, more });
      else {
        need.held += amount;
        need.more = Math.max(need.more, more);
      }
    }
  }
  return needs;
}

const figuresOf = ({ figures }: PlainRow): readonly FundAnswer[] => (figures === null ? [] : JSON.parse(figures));
