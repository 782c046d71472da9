import { sourceText } from '../../../policy/models/facts.ts';
import { SameModels } from '../../../policy/models/same-model.ts';
import { figuresIn, priceFrom } from './price-periods.ts';
import { RATES, type Witness, type WitnessModel, type WitnessPrice, withTiers } from './witnesses/witness.ts';

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

/**
 * Returns the price of the newest statement, as of its day. Parts that it leaves out (rates of the cache, tiers, hours, service tiers, and the
 * prices that follow) comes from the next statement with equal rates of input and output on that day, because not every list states it.
 * @param kept the price that counts after all statements, such as the present one
 */
export function priceOf(statements: readonly Statement[], kept?: WitnessPrice): ChosenPrice | null {
  const [newest] = statements;
  if (!newest) return null;
  const { witness } = newest;
  const stated = [...statements.map(({ model }) => model.price), ...(kept ? [kept] : [])];
  const prices = stated.map((price) => priceFrom(price, witness.asOf));
  const equal = prices.filter(({ input, output }) => input === prices[0]!.input && output === prices[0]!.output);
  const first = <Key extends keyof WitnessPrice>(key: Key) => equal.find((one) => one[key] !== undefined)?.[key];
  const rates = RATES.flatMap((rate) => {
    const usd = first(rate);
    return usd === undefined ? [] : [[rate, usd] as const];
  });
  const { input, output } = equal[0]!;
  const serviceTiers = new Map(equal.toReversed().flatMap((one) => Object.entries(one.service_tiers ?? {})));
  const { until, later } = equal.find((one) => one.until !== undefined) ?? {};
  const hours = first('hours');
  const price = {
    ...withTiers({ ...Object.fromEntries(rates), input, output }, first('tiers') ?? []),
    ...(hours && { hours }),
    ...(serviceTiers.size > 0 && { service_tiers: Object.fromEntries(serviceTiers) }),
    ...(until !== undefined && later && { until, later }),
  };
  return { price, witness };
}

/** Returns the figures that witnesses state differently. A figure that a witness leaves out is no disagreement. */
export function disagreementsOf(statements: readonly Statement[]): readonly Disagreement[] {
  const fields = new Map<string, Record<string, number>>();
  const day = statements[0]?.witness.asOf ?? '';
  for (const { witness, model } of statements) {
    for (const [field, value] of figuresIn(model.price, day))
      fields.getOrInsertComputed(`price.${field}`, () => ({}))[sourceText(witness)] = value;
  }
  return [...fields].flatMap(([field, values]) => (new Set(Object.values(values)).size > 1 ? [{ field, values }] : []));
}
