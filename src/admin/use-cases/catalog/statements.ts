import { DAY_MS } from '../../../core/time/clock.ts';
import { sourceText } from '../../../policy/models/facts.ts';
import { SameModels } from '../../../policy/models/same-model.ts';
import {
  RATES,
  type Rate,
  type Witness,
  type WitnessLine,
  type WitnessModel,
  type WitnessPrice,
  withTiers,
} from './witnesses/witness.ts';

/** What one witness states about a model. */
export interface Statement {
  readonly witness: Witness;
  readonly model: WitnessModel;
}

/** A field about which witnesses state different values. */
export interface Disagreement {
  readonly field: string;
  /** Maps the source of each value, such as `BerriAI/litellm@8943af58`, to the value. */
  readonly values: Readonly<Record<string, number>>;
}

/** The statements of all witnesses, the newest first. */
export class Statements {
  readonly witnesses: readonly Witness[];
  readonly #names = new Map<Witness, Map<string, SameModels>>();

  constructor(witnesses: readonly Witness[]) {
    this.witnesses = witnesses.toSorted((a, b) => (a.asOf > b.asOf ? -1 : 1));
  }

  /**
   * Returns what witnesses state about a name, or about the only model that the name can mean. A price of 0 is a temporary offer and does
   * not count.
   */
  of(preset: string, id: string): readonly Statement[] {
    return this.witnesses.flatMap((witness) => {
      const models = witness.models.get(preset);
      const [name, ...others] = this.#namesIn(witness, preset)?.namesOf(id) ?? [];
      const model = name === undefined || others.length > 0 ? undefined : models?.get(name);
      return model && model.price.input > 0 ? [{ witness, model }] : [];
    });
  }

  #namesIn(witness: Witness, preset: string): SameModels | null {
    const models = witness.models.get(preset);
    if (!models) return null;
    const known = this.#names.getOrInsertComputed(witness, () => new Map());
    return known.getOrInsertComputed(preset, () => new SameModels(models.keys()));
  }
}

/** The price that counts, and the list that states it. */
export interface ChosenPrice {
  readonly price: WitnessPrice;
  readonly witness: Witness;
}

/** A higher price that begins within so many days counts at once, because a policy cannot state the day. */
const SCHEDULE_DAYS = 14;

/**
 * Returns the price of the newest statement, or a higher one that soon begins. A rate and tiers that it leaves out come from the next
 * statement with equal rates of input and output, because not every list states the rates of the cache.
 * @param today such as `2026-11-30`
 */
export function priceOf(statements: readonly Statement[], today: string): ChosenPrice | null {
  const [newest, ...older] = statements;
  if (!newest) return null;
  const rising = statements.find(({ model: { scheduled } }) => {
    const days = scheduled ? (Date.parse(scheduled.from) - Date.parse(today)) / DAY_MS : Number.POSITIVE_INFINITY;
    return scheduled !== undefined && days <= SCHEDULE_DAYS && scheduled.price.output > newest.model.price.output;
  });
  if (rising?.model.scheduled) return { price: rising.model.scheduled.price, witness: rising.witness };
  const first = newest.model.price;
  const equal = older
    .map(({ model }) => model.price)
    .filter(({ input, output }) => input === first.input && output === first.output);
  const rates = RATES.map((rate) => [rate, [first, ...equal].find((one) => one[rate] !== undefined)?.[rate]]);
  const line = { ...Object.fromEntries(rates.filter(([, usd]) => usd !== undefined)), ...lineIn(first) };
  const price = withTiers(line, [first, ...equal].find(({ tiers }) => tiers)?.tiers ?? []);
  return { price, witness: newest.witness };
}

const lineIn = ({ tiers: _, ...line }: WitnessPrice): WitnessLine => line;

/** Returns the figures of a price by their paths in a policy: `output`, `tiers.200000.output`. */
export const figuresIn = ({ tiers = [], ...line }: WitnessPrice): ReadonlyMap<string, number> =>
  new Map([...ratesIn(line, ''), ...tiers.flatMap((tier) => ratesIn(tier, `tiers.${tier.over_input_tokens}.`))]);

const ratesIn = (line: Partial<Record<Rate, number>>, prefix: string) =>
  RATES.flatMap((rate) => (line[rate] === undefined ? [] : [[prefix + rate, line[rate]] as const]));

/** Returns the figures that witnesses state differently. A figure that a witness leaves out is no disagreement. */
export function disagreementsOf(statements: readonly Statement[]): readonly Disagreement[] {
  const fields = new Map<string, Record<string, number>>();
  for (const { witness, model } of statements) {
    for (const [field, value] of figuresIn(model.price))
      fields.getOrInsertComputed(`price.${field}`, () => ({}))[sourceText(witness)] = value;
  }
  return [...fields].flatMap(([field, values]) => (new Set(Object.values(values)).size > 1 ? [{ field, values }] : []));
}
