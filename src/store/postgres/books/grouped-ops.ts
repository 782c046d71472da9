import type { SqlWrite } from '../../sql/statement.ts';
import { arrayOf } from '../connection.ts';
import type { CalledOps, DrawingWireOp, WireOp } from './wire.ts';

/** A statement that rides with operations, with its values in its text. */
export interface RidingStatement {
  readonly text: string;
  /** Whether it must change or select a row. */
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

const NO_USAGE = [null, null, null, null, null] as const;

/** Gives each of many texts or numbers its place among those that differ, from 1. */
class Places<Thing> {
  readonly all: Thing[] = [];
  readonly #places = new Map<Thing, number>();

  of(thing: Thing): number {
    const known = this.#places.get(thing);
    if (known !== undefined) return known;
    this.#places.set(thing, this.all.push(thing));
    return this.all.length;
  }
}

/** An operation, and the statements that ride with it. */
interface GroupedOp {
  readonly op: WireOp;
  /** The place of the statements, from 1; 0 for none. */
  ride: number;
  /** Whether it is the only one of its call. */
  isAlone: boolean;
}

/** The operations of a group as `ledger_decide_2` takes them (`decide.sql`). State: operations. */
export class GroupedOps {
  readonly #ops: GroupedOp[] = [];
  readonly #ids = new Places<number>();
  readonly #fundSets = new Places<string>();
  readonly #rides: (readonly RidingStatement[])[] = [];

  /** The holds that operations are on. */
  get ids(): readonly number[] {
    return this.#ids.all;
  }

  /** @returns the number of its operations here. Riding writes stand at the last operation of their call. */
  add({ ops, also }: CalledOps, rideOf: (one: SqlWrite) => readonly RidingStatement[]): number {
    const calls: WireOp[] = ops.flat();
    const rides = (also as readonly SqlWrite[]).flatMap(rideOf);
    const isRidden = rides.length > 0;
    if (isRidden && calls.length === 0) calls.push({ kind: 'write' });
    for (const op of calls) this.#ops.push({ op, ride: 0, isAlone: false });
    const last = isRidden && this.#ops.at(-1);
    if (last) Object.assign(last, { ride: this.#rides.push(rides), isAlone: ops.flat().length === 1 });
    return calls.length;
  }

  /** The arguments of the function after the owner. */
  values(): readonly string[] {
    const rows = this.#ops.map((one) => this.#rowOf(one));
    const others = this.#ops.flatMap(({ op }) => (isDrawing(op) ? [] : [op]));
    return [
      ...[arrayOf(rows), arrayOf(this.#ids.all), arrayOf(this.#fundSets.all)],
      ...[JSON.stringify(others), JSON.stringify(this.#rides)],
    ];
  }

  /** As a text of the type `ledger_op_2`. */
  #rowOf({ op, ride, isAlone }: GroupedOp): string {
    const { hold, at = 0, funds } = op;
    const ref = hold === undefined ? 0 : this.#ids.of(hold);
    const fundSet = funds ? this.#fundSets.of(`{${funds.join(',')}}`) : 0;
    // The others have no expiry, step, cost, and so on up to the note.
    if (!isDrawing(op)) return `(o,${ref},${at},0,${fundSet},{},,,0${','.repeat(12)},${ride},${isAlone})`;
    const { account = 0, amounts = [], least, ample, expected = 0, expires, step } = op;
    const { cost, most = 0, tariff, usage = NO_USAGE, estimated, note } = op;
    const limits = `"{${amounts.join(',')}}",${orNull(least)},${orNull(ample)},${expected},${orNull(expires)}`;
    const charge = `${orNull(step)},${orNull(cost)},${most},${orNull(tariff)},${usage.join(',')},${orNull(estimated)}`;
    const text = note === undefined || note === null ? '' : `"${note.replace(/["\\]/g, '\\$&')}"`;
    return `(${LETTERS[op.kind]},${ref},${at},${account},${fundSet},${limits},${charge},${text},${ride},${isAlone})`;
  }
}

/** A number or truth as a text of a row has it: nothing stands for NULL. */
const orNull = (value: number | boolean | null | undefined): number | boolean | string => value ?? '';
