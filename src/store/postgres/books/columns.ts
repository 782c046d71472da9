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

const USAGE = ['input', 'cached', 'written', 'output', 'reasoning'] as const;

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

/** The types of the columns without texts, in the order of `values`. */
export const PLAIN_TYPES = [
  ...['"char"', 'integer', 'bigint', 'integer', 'integer', 'bigint', 'integer'],
  ...['bigint', 'bigint', 'bigint', 'bigint', 'integer', 'bigint', 'bigint', 'integer'],
  ...[...USAGE.map(() => 'bigint'), 'boolean', 'integer', 'boolean', 'bigint', 'bigint'],
] as const;

/** The operations of a group as the columns that `decide.sql` takes. State: operations. */
export class GroupColumns {
  readonly #kinds: string[] = [];
  readonly #refs: number[] = [];
  readonly #times: number[] = [];
  readonly #accounts: number[] = [];
  readonly #sets: number[] = [];
  readonly #amounts: number[] = [];
  readonly #moreEnds: number[] = [];
  readonly #leasts: number[] = [];
  readonly #amples: number[] = [];
  readonly #expected: number[] = [];
  readonly #expires: number[] = [];
  readonly #steps: number[] = [];
  readonly #costs: number[] = [];
  readonly #mosts: number[] = [];
  readonly #tariffs: number[] = [];
  readonly #usages = USAGE.map((): (number | 'NULL')[] => []);
  readonly #estimated: (boolean | 'NULL')[] = [];
  readonly #notes: (string | null)[] = [];
  readonly #rideRefs: number[] = [];
  readonly #alone: boolean[] = [];
  readonly #more: number[] = [];
  readonly #ids = new Places<number>();
  readonly #fundSets = new Places<string>();
  readonly #others: WireOp[] = [];
  readonly #rides: (readonly RidingStatement[])[] = [];

  /** The holds that operations are on. */
  get ids(): readonly number[] {
    return this.#ids.all;
  }

  /** @returns the number of its places in the columns. Riding writes stand at the last operation of their call. */
  add({ ops, also }: CalledOps, rideOf: (one: SqlWrite) => readonly RidingStatement[]): number {
    const before = this.#kinds.length;
    for (const wire of ops) for (const op of wire) this.#push(op);
    const length = this.#kinds.length - before;
    const rides = (also as readonly SqlWrite[]).flatMap(rideOf);
    if (rides.length === 0) return length;
    if (length === 0) this.#push({ kind: 'write' });
    const last = this.#kinds.length - 1;
    this.#rideRefs[last] = this.#rides.push(rides);
    this.#alone[last] = length === 1;
    return Math.max(1, length);
  }

  #push(op: WireOp): void {
    const { hold, at = 0, funds } = op;
    const isKnown = isDrawing(op);
    this.#kinds.push(isKnown ? LETTERS[op.kind] : 'o');
    this.#refs.push(hold === undefined ? 0 : this.#ids.of(hold));
    this.#sets.push(funds ? this.#fundSets.of(`{${funds.join(',')}}`) : 0);
    this.#times.push(at);
    const one: Partial<DrawingWireOp> = isKnown ? op : {};
    if (!isKnown) this.#others.push(op);
    const [first = 0, ...more] = one.amounts ?? [];
    this.#amounts.push(first);
    this.#more.push(...more);
    this.#moreEnds.push(this.#more.length);
    this.#accounts.push(one.account ?? 0);
    this.#leasts.push(one.least ?? -1);
    this.#amples.push(one.ample ?? -1);
    this.#expected.push(one.expected ?? 0);
    this.#expires.push(one.expires ?? -1);
    this.#steps.push(one.step ?? -1);
    this.#costs.push(one.cost ?? -1);
    this.#mosts.push(one.most ?? 0);
    this.#tariffs.push(one.tariff ?? 0);
    for (let at = 0; at < USAGE.length; at++) this.#usages[at]!.push(one.usage?.[at] ?? 'NULL');
    this.#estimated.push(one.estimated ?? 'NULL');
    this.#notes.push(one.note ?? null);
    this.#rideRefs.push(0);
    this.#alone.push(false);
  }

  /** In the order of the function, behind the owner. Columns without texts are one value: each value costs the driver and the server. */
  values(): readonly string[] {
    const plain = [
      ...[this.#kinds, this.#refs, this.#times, this.#accounts, this.#sets, this.#amounts, this.#moreEnds],
      ...[this.#leasts, this.#amples, this.#expected, this.#expires, this.#steps, this.#costs, this.#mosts],
      ...[this.#tariffs, ...this.#usages, this.#estimated, this.#rideRefs, this.#alone, this.#more, this.#ids.all],
    ];
    return [
      `{${plain.join('};{')}}`,
      ...[arrayOf(this.#notes), arrayOf(this.#fundSets.all), JSON.stringify(this.#others), JSON.stringify(this.#rides)],
    ];
  }
}
