import { toolOf, unitOf } from '../../core/money/units.ts';
import { TOTAL } from './bill-files.ts';
import { type BilledLine, type Picodollars, REQUESTS, undated } from './billed.ts';
import type { BookedCharge, BookedSum } from './booked.ts';

/**
 * The kinds of differences between a bill and the books, with what each means. `outside_traffic` is no mistake: another program uses the
 * same account.
 */
export const DIFFERENCES = {
  outside_traffic: 'The bill has requests or items that did not go through the gateway.',
  missing_requests: 'Requests are missing: in the bill if the difference is negative, in the books if it is positive.',
  doubled_requests:
    'Requests are counted twice: in the bill if the difference is positive, in the books if it is negative.',
  model_renamed: 'The bill has another name for the model.',
  day_shifted: 'The bill counts requests on the neighboring day, as in another time zone.',
  cache_unit: 'The input is divided differently among plain, cached and written tokens.',
  tool_uses: 'The numbers of uses of the provider’s tools differ.',
  tier: 'The bill has a service tier that the books do not know.',
  discount: 'All prices of the bill differ by the same factor.',
  price_changed: 'The price of a unit differs.',
  amounts: 'The amounts differ in a way that no other kind explains.',
} as const;
export type DifferenceKind = keyof typeof DIFFERENCES;

export interface Difference {
  readonly kind: DifferenceKind;
  /** The first and the last day, in UTC. */
  readonly from: string;
  readonly to: string;
  /** The model; null for several. */
  readonly model: string | null;
  /** The unit; null for several. */
  readonly unit: string | null;
  /** Amounts in the unit; null for several units, and if the bill states none. */
  readonly billed: number | null;
  readonly booked: number | null;
  /** The cost in the bill minus the cost in the books; null if the bill states no cost. */
  readonly usd: Picodollars | null;
  /** What was found, in a few words: a factor, the other name, the tier. */
  readonly detail: string;
}

/** The charges of a model on one day, each with its units. */
export type ChargesOf = (model: string, day: string) => Promise<readonly BookedCharge['units'][]>;

interface Cell extends BookedSum {
  billed: number | null;
  billedUsd: Picodollars | null;
}
/** The units of a model on one day. */
type Units = Map<string, Cell>;
type Days = Map<string, Units>;

export class Comparison {
  readonly #models = new Map<string, Days>();
  readonly #found: Difference[] = [];
  /** The tiers of each model and day in the bill, and in the books. */
  readonly #tiers = new Map<string, { readonly billed: Set<string>; readonly booked: Set<string> }>();
  /** Cells that an earlier step has explained. */
  readonly #explained = new Set<string>();
  /** Whether the bill counts requests. */
  #hasRequests = false;
  /** Whether the account is known that only the gateway uses. */
  readonly #ownAccount: boolean;

  /**
   * @param account the project, workspace or API key that only the gateway uses; null if it is not known
   */
  constructor(lines: readonly BilledLine[], account: string | null) {
    const others = new Map<string, { usd: Picodollars | null; day: string; detail: string }>();
    const aside = (line: BilledLine, detail: string) => {
      const sum = others.getOrInsertComputed(`${line.day} ${detail}`, () => ({ usd: null, day: line.day, detail }));
      if (line.usd !== null) sum.usd = (sum.usd ?? 0n) + line.usd;
    };
    for (const line of lines) {
      if (account !== null && line.account !== null && line.account !== account)
        aside(line, `the account ${line.account}`);
      else if (!isUnit(line)) aside(line, line.unit);
      else this.#bill(line);
    }
    for (const { day, detail, usd } of others.values()) {
      this.#add({ kind: 'outside_traffic', from: day, to: day, usd, detail });
    }
    this.#ownAccount = account !== null;
  }

  #bill({ day, model, unit, amount, usd, tier }: BilledLine): void {
    const name = model === null ? ALL : undated(model);
    const cell = this.#cell(name, day, unit);
    if (amount !== null) {
      cell.billed = (cell.billed ?? 0) + amount;
      if (unit === REQUESTS) this.#hasRequests = true;
    }
    if (usd !== null) cell.billedUsd = (cell.billedUsd ?? 0n) + usd;
    if (tier !== null) this.#tiersOf(name, day).billed.add(tier);
  }

  /** Adds a charge of the books. */
  book({ day, model, tier, units }: BookedCharge): void {
    if (tier !== null) this.#tiersOf(model, day).booked.add(tier);
    for (const [unit, { amount, usd }] of units) {
      const cell = this.#cell(model, day, unit);
      cell.amount += amount;
      cell.usd += usd;
    }
  }

  #tiersOf(model: string, day: string) {
    return this.#tiers.getOrInsertComputed(keyOf(model, day), () => ({ billed: new Set(), booked: new Set() }));
  }

  #cell(model: string, day: string, unit: string): Cell {
    const days = this.#models.getOrInsertComputed(model, () => new Map());
    const units = days.getOrInsertComputed(day, () => new Map());
    return units.getOrInsertComputed(unit, () => ({ amount: 0, usd: 0n, billed: null, billedUsd: null }));
  }

  /** Finds the differences. Each step explains some of them, and the next steps look at the rest. */
  async differences(chargesOf: ChargesOf): Promise<readonly Difference[]> {
    this.#renamed();
    for (const [model, days] of this.#models) {
      if (model === ALL) continue;
      const hasAmounts = statesAmounts(days);
      if (this.#shifted(model, days, hasAmounts)) continue;
      for (const [day, units] of days) {
        this.#tiered(model, day, units, hasAmounts);
        if (hasAmounts) await this.#amounts(model, day, units, chargesOf);
      }
    }
    this.#prices();
    return this.#found.sort((one, other) => (one.from < other.from ? -1 : one.from > other.from ? 1 : 0));
  }

  #add(found: Partial<Difference> & Pick<Difference, 'kind' | 'from' | 'to' | 'detail'>): void {
    this.#found.push({ model: null, unit: null, billed: null, booked: null, usd: null, ...found });
  }

  /** Joins a model that only the bill has with a model that only the books have, if their figures are equal on each day. */
  #renamed(): void {
    const only = (isOfBill: boolean) =>
      [...this.#models].filter(
        ([model, days]) => model !== ALL && cellsIn(days).every(isOfBill ? isUnbooked : isUnbilled),
      );
    for (const [billed, ofBill] of only(true)) {
      for (const [booked, ofBooks] of only(false)) {
        if (vectorOf(ofBill, ofCell) !== vectorOf(ofBooks, ofBooked(cellsIn(ofBill)))) continue;
        const days = [...ofBooks.keys()].sort();
        const sum = cellsIn(ofBooks).reduce((all, { amount }) => all + amount, 0);
        this.#add({
          ...{ kind: 'model_renamed', from: days[0]!, to: days.at(-1)!, model: booked },
          ...{ billed: sum, booked: sum, usd: 0n, detail: `the bill calls it ${billed}` },
        });
        for (const [day, units] of ofBill) {
          for (const [unit, { billed: amount, billedUsd }] of units) {
            Object.assign(this.#cell(booked, day, unit), { billed: amount, billedUsd });
          }
        }
        this.#models.delete(billed);
        break;
      }
    }
  }

  /**
   * Whether the bill of a model has the same amounts on neighboring days: what one day lacks, the next one has. At both ends of the period, a
   * part can be outside of it.
   */
  #shifted(model: string, days: Days, hasAmounts: boolean): boolean {
    const names = [...days.keys()].sort();
    const units = [...new Set([...days.values()].flatMap((of) => [...of.keys()]))].filter((unit) =>
      hasAmounts ? unit !== REQUESTS && unit !== REQUEST : true,
    );
    let [moved, isMoved] = [0, false];
    const moving = new Set<string>();
    for (const unit of units) {
      let [running, least, most] = [0, 0, 0];
      let [rises, falls] = [false, false];
      for (const day of names) {
        const cell = days.get(day)!.get(unit);
        const difference = cell ? deltaOf(cell, hasAmounts) : 0;
        if (difference !== 0) moving.add(day);
        rises ||= difference > 0;
        falls ||= difference < 0;
        running += difference;
        [least, most] = [Math.min(least, running), Math.max(most, running)];
        // What a day lacks cannot be more than its neighbor has.
        if (cell && Math.abs(running) > (hasAmounts ? cell.amount : Number(cell.usd))) return false;
        moved += Math.abs(difference) / 2;
      }
      if (rises && falls && least < 0 && most > 0) return false;
      if (rises && falls) isMoved = true;
      else if (rises || falls) return false;
    }
    // Requests near the end of a day move on most days. On a few days, other reasons are more likely.
    if (!isMoved || moving.size < Math.max(2, names.length / 2)) return false;
    for (const [day, of] of days) for (const unit of of.keys()) this.#explained.add(keyOf(model, day, unit));
    const amount = hasAmounts ? Math.round(moved) : null;
    this.#add({
      ...{ kind: 'day_shifted', from: names[0]!, to: names.at(-1)!, model, billed: amount, booked: amount, usd: 0n },
      detail: 'the days of the bill begin at another time than the days in UTC',
    });
    return true;
  }

  #tiered(model: string, day: string, units: Units, hasAmounts: boolean): void {
    const tiers = this.#tiers.get(keyOf(model, day));
    if (tiers === undefined) return;
    // Requests of a tier that both sides have are compared together with the others of the day.
    const unknown = [...tiers.billed.difference(tiers.booked)];
    if (unknown.length === 0) return;
    const sum = { billed: 0, booked: 0, usd: 0n, hasCost: false };
    for (const [unit, { amount, usd, billed, billedUsd }] of units) {
      if (unit !== REQUESTS && unit !== REQUEST) {
        sum.billed += billed ?? 0;
        sum.booked += amount;
      }
      if (billedUsd === null) continue;
      sum.hasCost = true;
      sum.usd += billedUsd - usd;
      this.#explained.add(keyOf(model, day, unit));
    }
    this.#add({
      ...{
        kind: 'tier',
        from: day,
        to: day,
        model,
        usd: sum.hasCost ? sum.usd : null,
        detail: `the tier ${unknown.join(', ')}`,
      },
      ...(hasAmounts && { billed: sum.billed, booked: sum.booked }),
    });
  }

  /** Names the difference of the amounts of a model on one day. */
  async #amounts(model: string, day: string, units: Units, chargesOf: ChargesOf): Promise<void> {
    const differing = [...units].filter(([unit, cell]) => this.#isCompared(unit) && (cell.billed ?? 0) !== cell.amount);
    if (differing.length === 0) return;
    const deltas = new Map(differing.map(([unit, { billed, amount }]) => [unit, (billed ?? 0) - amount]));
    const tokens = [...deltas].filter(([unit]) => unit !== REQUESTS);
    const isMore = [...deltas.values()].every((delta) => delta > 0);
    const isLess = [...deltas.values()].every((delta) => delta < 0);
    const sums = differing.map(([unit, { billed, amount, usd, billedUsd }]) => ({
      unit,
      billed,
      amount,
      usd,
      billedUsd,
    }));
    const cost = sums.some(({ billedUsd }) => billedUsd !== null)
      ? sums.reduce((sum, { usd, billedUsd }) => sum + (billedUsd ?? 0n) - usd, 0n)
      : null;
    for (const { unit } of sums) this.#explained.add(keyOf(model, day, unit));
    const [only] = tokens.length === 1 ? tokens : [];
    const of = only && units.get(only[0]);
    const name = (kind: DifferenceKind, detail: string) =>
      this.#add({
        ...{ kind, from: day, to: day, model, usd: cost, detail },
        ...(of ? { unit: only[0], billed: of.billed ?? 0, booked: of.amount } : countsOf(units)),
      });
    if (tokens.length > 0 && tokens.every(([unit]) => toolOf(unit) !== '') && !deltas.has(REQUESTS)) {
      return name('tool_uses', tokens.map(([unit]) => toolOf(unit)).join(', '));
    }
    const isSplit = tokens.every(([unit]) => isInput(unit)) && tokens.reduce((sum, [, delta]) => sum + delta, 0) === 0;
    if (isSplit && tokens.length > 0 && !deltas.has(REQUESTS)) {
      return name('cache_unit', tokens.map(([unit, delta]) => `${unit} ${delta > 0 ? '+' : ''}${delta}`).join(', '));
    }
    if (!isMore && !isLess) return name('amounts', tokens.map(([unit]) => unit).join(', '));
    const compared = [...units].filter(([unit]) => this.#isCompared(unit));
    const isTwice = compared.every(([, { billed, amount }]) =>
      isMore ? billed === 2 * amount : amount === 2 * (billed ?? 0),
    );
    if (isTwice || (await isTwin(deltas, isMore ? 1 : 2, chargesOf, model, day))) {
      return name('doubled_requests', isMore ? 'the bill has them twice' : 'the books have them twice');
    }
    if (isLess) return name('missing_requests', 'the bill lacks them');
    return this.#ownAccount
      ? name('missing_requests', 'the books lack them')
      : name('outside_traffic', 'requests that the books do not have');
  }

  /** Whether the bill counts a unit, so that its amounts can be compared. */
  readonly #isCompared = (unit: string): boolean =>
    unit === REQUESTS ? this.#hasRequests : unit !== REQUEST && unit !== TOTAL;

  /** Compares the costs of cells whose amounts are equal. */
  #prices(): void {
    const cells = this.#pricedCells();
    const differing = cells.filter(({ billed, booked }) => !isSameCost(billed, booked));
    const [first] = differing;
    if (!first) return;
    const days = differing.map(({ day }) => day).sort();
    const [from, to] = [days[0]!, days.at(-1)!];
    const factor = Number(first.billed) / Number(first.booked);
    const isAll = cells.every(({ billed, booked }) => isSameCost(billed, scaled(booked, factor)));
    if (isAll && factor < 1 && cells.length > 1) {
      const usd = cells.reduce((sum, { billed, booked }) => sum + billed - booked, 0n);
      this.#add({ kind: 'discount', from, to, usd, detail: `${((1 - factor) * 100).toFixed(2)} %` });
      return;
    }
    for (const [, of] of Map.groupBy(differing, ({ model, unit }) => `${model} ${unit}`)) {
      const [one] = of;
      const sum = of.reduce((all, { billed, booked }) => all + billed - booked, 0n);
      const ofDays = of.map(({ day }) => day).sort();
      const rate = (usd: Picodollars, amount: number) =>
        (Number(usd) / amount / 1e6).toPrecision(4).replace(/\.?0+$/, '');
      this.#add({
        ...{ kind: 'price_changed', from: ofDays[0]!, to: ofDays.at(-1)!, usd: sum },
        ...{ model: one!.model === ALL ? null : one!.model, unit: one!.unit === TOTAL ? null : one!.unit },
        detail:
          one!.amount > 0 && toolOf(one!.unit) === '' && one!.unit !== TOTAL
            ? `${rate(one!.billed, one!.amount)} instead of ${rate(one!.booked, one!.amount)} USD per 1M`
            : `${(Number(one!.billed) / Number(one!.booked)).toFixed(3)} times the cost in the books`,
      });
    }
  }

  /** The costs that the bill states, each with the cost of the same units in the books. */
  #pricedCells() {
    const cells: {
      model: string;
      day: string;
      unit: string;
      amount: number;
      billed: Picodollars;
      booked: Picodollars;
    }[] = [];
    for (const [model, days] of this.#models) {
      for (const [day, units] of days) {
        const total = units.get(TOTAL);
        if (total?.billedUsd != null && !this.#explained.has(keyOf(model, day, TOTAL))) {
          const booked =
            model === ALL ? this.#costOf(day) : [...units.values()].reduce((sum, { usd }) => sum + usd, 0n);
          cells.push({ model, day, unit: TOTAL, amount: 0, billed: total.billedUsd, booked });
          continue;
        }
        for (const [unit, { amount, usd, billedUsd }] of units) {
          if (billedUsd === null || this.#explained.has(keyOf(model, day, unit))) continue;
          cells.push({ model, day, unit, amount, billed: billedUsd, booked: usd });
        }
      }
    }
    return cells;
  }

  #costOf(day: string): Picodollars {
    let sum = 0n;
    for (const days of this.#models.values()) for (const { usd } of days.get(day)?.values() ?? []) sum += usd;
    return sum;
  }
}

/** The model of lines about several models. */
const ALL = '';
/** The unit of the fee for a request, which the books have and no bill counts. */
const REQUEST = 'request';
const isInput = (unit: string): boolean => unitOf(unit)?.side === 'input';

/** Whether the books can have a line: it names a unit that requests use. */
const isUnit = ({ unit, model }: BilledLine): boolean =>
  unit === TOTAL || (model !== null && (unit === REQUESTS || unitOf(unit) !== undefined));

const keyOf = (...parts: readonly string[]): string => parts.join('\n');
const cellsIn = (days: Days): readonly Cell[] => [...days.values()].flatMap((units) => [...units.values()]);
const isUnbooked = ({ amount }: Cell): boolean => amount === 0;
const isUnbilled = ({ billed, billedUsd }: Cell): boolean => billed === null && billedUsd === null;
/** Whether the bill states amounts of a model, or does not know the model at all. A bill may state only the costs of some models. */
const statesAmounts = (days: Days): boolean => {
  const cells = cellsIn(days);
  return cells.some(({ billed }) => billed !== null) || cells.every(({ billedUsd }) => billedUsd === null);
};
const deltaOf = ({ amount, usd, billed, billedUsd }: Cell, hasAmounts: boolean): number =>
  hasAmounts ? (billed ?? 0) - amount : isSameCost(billedUsd ?? 0n, usd) ? 0 : Number((billedUsd ?? 0n) - usd);

/** The requests of a model on one day, as both sides count them. */
const countsOf = (units: Units): Pick<Difference, 'unit' | 'billed' | 'booked'> => {
  const cell = units.get(REQUESTS);
  return cell && cell.billed !== null
    ? { unit: REQUESTS, billed: cell.billed, booked: cell.amount }
    : { unit: null, billed: null, booked: null };
};

/** Writes the figures of a model as text, to compare them. */
const vectorOf = (days: Days, figure: (unit: string, cell: Cell) => string | null): string =>
  [...days]
    .sort()
    .map(
      ([day, units]) =>
        `${day}: ${[...units]
          .sort()
          .flatMap(([unit, cell]) => figure(unit, cell) ?? [])
          .join(' ')}`,
    )
    .join('\n');
const ofCell = (unit: string, { billed }: Cell): string | null =>
  billed === null || unit === TOTAL ? null : `${unit}=${billed}`;
/** Reads the same figures from the books: those that the bill states. */
const ofBooked = (ofBill: readonly Cell[]) => {
  const hasAmounts = ofBill.some(({ billed }) => billed !== null);
  return (unit: string, { amount }: Cell): string | null =>
    !hasAmounts || unit === REQUEST || amount === 0 ? null : `${unit}=${amount}`;
};

/** Whether charges of the day have exactly the units that are missing or that are too many. */
async function isTwin(
  deltas: ReadonlyMap<string, number>,
  least: number,
  chargesOf: ChargesOf,
  model: string,
  day: string,
) {
  const isSame = (units: BookedCharge['units']) => {
    const tokens = [...units].filter(([unit, { amount }]) => unit !== REQUESTS && unit !== REQUEST && amount > 0);
    const wanted = [...deltas].filter(([unit]) => unit !== REQUESTS);
    return (
      tokens.length === wanted.length && wanted.every(([unit, delta]) => units.get(unit)?.amount === Math.abs(delta))
    );
  };
  return (await chargesOf(model, day)).filter(isSame).length >= least;
}

/** The smallest difference of a cost that is named: a tenth of a microdollar, and a ten-thousandth of the cost. Bills round their costs. */
const LEAST: Picodollars = 100_000n;
const absolute = (amount: bigint): bigint => (amount < 0n ? -amount : amount);
const isSameCost = (one: Picodollars, other: Picodollars): boolean => {
  const difference = absolute(one - other);
  return difference <= LEAST || difference * 10_000n <= absolute(other);
};
const scaled = (amount: Picodollars, factor: number): Picodollars =>
  (amount * BigInt(Math.round(factor * 1e9))) / 1_000_000_000n;
