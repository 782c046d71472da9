import type { SqlWrite } from '../../sql/statement.ts';
import type { Write } from '../../store.ts';
import { arrayOf } from '../connection.ts';
import type { CalledOps, DrawingWireOp, WireOp } from './wire.ts';

/** An attached statement, with the values of the statement as literals in the text. */
export interface RidingStatement {
  readonly text: string;
  /** True if the statement must change or select a row. If such a statement changes and selects no row, the group of operations fails. */
  readonly must: boolean;
}

const LETTERS: Readonly<Record<DrawingWireOp['kind'], string>> = {
  hold: 'h',
  earmark: 'k',
  extend: 'e',
  post: 'p',
  settle: 's',
};
const isDrawing = (op: WireOp): op is DrawingWireOp => Object.hasOwn(LETTERS, op.kind);

/** Numbers distinct texts or numbers, from 1, in the order of their first use. */
export class Places<Thing> {
  readonly all: Thing[] = [];
  readonly #places = new Map<Thing, number>();

  of(thing: Thing): number {
    const known = this.#places.get(thing);
    if (known !== undefined) return known;
    this.#places.set(thing, this.all.push(thing));
    return this.all.length;
  }
}

/** An operation, with the statements that are attached to it. */
interface GroupedOp {
  readonly op: WireOp;
  /** The number of the attached statements in `#rides`, from 1; 0 for none. */
  ride: number;
  /** True if the call of this operation has no other operation. */
  isAlone: boolean;
}

/** The operations of a group in the form of the arguments of `ledger_decide_1` (`decide.sql`). State: operations. */
export class GroupedOps {
  readonly #ops: GroupedOp[] = [];
  readonly #ids = new Places<number>();
  readonly #fundSets = new Places<string>();
  readonly #rides: (readonly RidingStatement[])[] = [];
  /** The writes of calls without operations. Several requests may bring the same write, which is then written once. */
  readonly #writes = new Set<Write>();

  /** The IDs of the holds that the operations refer to. */
  get ids(): readonly number[] {
    return this.#ids.all;
  }

  /**
   * Adds a call. The attached writes of the call are stored with the last operation of the call.
   * @returns how many operations this call adds
   */
  add({ ops, also }: CalledOps, rideOf: (one: SqlWrite) => readonly RidingStatement[]): number {
    const calls: WireOp[] = ops.flat();
    const writes = calls.length > 0 ? also : also.filter((one) => !this.#writes.has(one));
    if (calls.length === 0) for (const one of writes) this.#writes.add(one);
    const rides = (writes as readonly SqlWrite[]).flatMap(rideOf);
    const isRidden = rides.length > 0;
    if (isRidden && calls.length === 0) calls.push({ kind: 'write' });
    for (const op of calls) this.#ops.push({ op, ride: 0, isAlone: false });
    const last = isRidden && this.#ops.at(-1);
    if (last) Object.assign(last, { ride: this.#rides.push(rides), isAlone: ops.flat().length === 1 });
    return calls.length;
  }

  /** The arguments of the decide function, from the second on. The first argument is the owner. */
  values(): readonly string[] {
    const rows = this.#ops.map((one) => this.#rowOf(one));
    const others = this.#ops.flatMap(({ op }) => (isDrawing(op) ? [] : [op]));
    return [
      ...[arrayOf(rows), arrayOf(this.#ids.all), arrayOf(this.#fundSets.all)],
      ...[JSON.stringify(others), JSON.stringify(this.#rides)],
    ];
  }

  /** Writes an operation as a value of the SQL type `ledger_op_1`, in text form. */
  #rowOf({ op, ride, isAlone }: GroupedOp): string {
    const { hold, at = 0, funds } = op;
    const ref = hold === undefined ? 0 : this.#ids.of(hold);
    const fundSet = funds ? this.#fundSets.of(`{${funds.join(',')}}`) : 0;
    // An operation that draws no money has no value in the columns from `expires` to `note`, and no bill.
    if (!isDrawing(op)) return `(o,${ref},${at},0,${fundSet},{},,,0${','.repeat(7)},${ride},${isAlone},)`;
    const { account = 0, amounts = [], least, ample, expected = 0, expires, step } = op;
    const { cost, most = 0, tariff, bill, estimated, note } = op;
    const limits = `"{${amounts.join(',')}}",${orNull(least)},${orNull(ample)},${expected},${orNull(expires)}`;
    const charge = `${orNull(step)},${orNull(cost)},${most},${orNull(tariff)},${orNull(estimated)}`;
    const rest = `${textOf(note)},${ride},${isAlone},${textOf(bill)}`;
    return `(${LETTERS[op.kind]},${ref},${at},${account},${fundSet},${limits},${charge},${rest})`;
  }
}

/** Writes a text in the text form of a row. */
const textOf = (text: string | null | undefined): string =>
  text === undefined || text === null ? '' : `"${text.replace(/["\\]/g, '\\$&')}"`;

/** Writes a number or boolean in the text form of a row, where an empty field is NULL. */
const orNull = (value: number | boolean | null | undefined): number | boolean | string => value ?? '';
