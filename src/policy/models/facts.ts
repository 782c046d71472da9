import { type Static, Type } from '@sinclair/typebox';
import { lazy } from '../../core/lazy.ts';
import { SchemaCheck } from '../../core/schema/check.ts';
import { ModelText, PriceText } from '../schema/model.ts';
import { SameModels } from './same-model.ts';

const { context_window, max_output, capabilities, temperature, released } = ModelText.properties;
const { input, cached_input, cache_write, output, tiers } = PriceText.properties;
const closed = { additionalProperties: false };

/**
 * A row of the table: keys of a model in a policy. The price in a row has no date and basis, because the table has one date and basis for
 * all rows.
 */
const RowText = Type.Object(
  {
    price: Type.Object({ input, cached_input, cache_write, output, tiers: Type.Optional(tiers) }, closed),
    context_window,
    max_output,
    capabilities,
    released,
    temperature: Type.Optional(temperature),
  },
  closed,
);
type Row = Static<typeof RowText>;

const Rows = Type.Record(Type.String(), Type.Record(Type.String(), RowText));
const FileText = Type.Object({
  /** The repository and commit that the facts come from, and their date. */
  source: Type.String(),
  commit: Type.String({ pattern: '^[0-9a-f]{40}$' }),
  as_of: Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' }),
  licence: Type.String(),
  models: Rows,
  /** Names that vendors move from model to model, with the figures of the table's date. */
  moving: Type.Optional(Rows),
});
type FileText = Static<typeof FileText>;

/** The public facts of a chat model: the keys of a model in a policy that others publish. */
export interface ModelFacts
  extends Pick<ModelText, 'context_window' | 'max_output' | 'capabilities' | 'temperature' | 'released'> {
  /** USD per 1M tokens, with the basis `aggregator` and the table's date. */
  readonly price: PriceText;
}

/** Public models of the known providers, with their prices, limits and capabilities. */
export class FactsTable {
  readonly #file: Omit<FileText, 'models' | 'moving'>;
  readonly #moving: ReadonlyMap<string, ReadonlyMap<string, Row>>;
  readonly #providers: ReadonlyMap<string, { readonly rows: ReadonlyMap<string, Row>; readonly names: SameModels }>;

  constructor({ models, moving = {}, ...file }: FileText) {
    this.#file = file;
    const rowsIn = ([preset, rows]: [string, Record<string, Row>]) => [preset, new Map(Object.entries(rows))] as const;
    this.#moving = new Map(Object.entries(moving).map(rowsIn));
    const tableOf = (rows: Record<string, Row>) => ({
      rows: new Map(Object.entries(rows)),
      names: new SameModels(Object.keys(rows)),
    });
    this.#providers = new Map(Object.entries(models).map(([preset, rows]) => [preset, tableOf(rows)]));
  }

  /** The date on which the prices were read, such as `2026-07-01`. */
  get asOf(): string {
    return this.#file.as_of;
  }

  /** The repository and commit that the facts come from, such as `anomalyco/models.dev@f3fc6922`. */
  get source(): string {
    return `${this.#file.source}@${this.#file.commit.slice(0, 8)}`;
  }

  /**
   * Returns the facts of a model; null if the table has none.
   * @param provider the preset of its provider, such as `openai`
   * @param id the provider's own name of the model
   */
  of(provider: string, id: string): ModelFacts | null {
    return this.#factsIn(this.#providers.get(provider)?.rows.get(id));
  }

  /**
   * Returns the facts, at the table's date, of a name that its vendor moves from model to model; null for any other name. An operator has
   * to check the price, because it may have changed since the table's date.
   */
  ofMoving(provider: string, id: string): ModelFacts | null {
    return this.#factsIn(this.#moving.get(provider)?.get(id));
  }

  #factsIn(row: Row | undefined): ModelFacts | null {
    if (!row) return null;
    const price: PriceText = { tiers: [], ...row.price, as_of: this.asOf, basis: 'aggregator' };
    return { temperature: true, ...row, price };
  }

  /**
   * Returns the names of the rows that any spelling of a model may mean, according to `SameModels`. Several rows are versions of the model,
   * and none of them is exactly the requested version.
   * @param provider as in `of`
   */
  rowsOf(provider: string, id: string): readonly string[] {
    return this.#providers.get(provider)?.names.namesOf(id) ?? [];
  }

  /** Returns the names of a preset's models, sorted. */
  ids(provider: string): readonly string[] {
    return [...(this.#providers.get(provider)?.rows.keys() ?? [])];
  }
}

/** Loads the table of public facts once. Only wildcards, the importer and `catalog sync` need the table. */
export const loadFacts = lazy(async (): Promise<FactsTable> => {
  const { default: file }: { default: unknown } = await import('./facts.json', { with: { type: 'json' } });
  const check = new SchemaCheck(FileText);
  if (!check.accepts(file)) throw new TypeError(`facts.json: ${check.errorOf(file)?.path} is not as facts.ts says`);
  return new FactsTable(file);
});
