import { type Static, Type } from '@sinclair/typebox';
import { lazy } from '../../core/lazy.ts';
import { SchemaCheck } from '../../core/schema/check.ts';
import { together } from '../../core/text/text.ts';
import { DAY_MS } from '../../core/time/clock.ts';
import { ModelText } from '../schema/model.ts';
import { LINE, PriceText } from '../schema/price-text.ts';
import { SameModels } from './same-model.ts';

const { context_window, max_output, capabilities, temperature, released } = ModelText.properties;
const { tiers, hours, service_tiers, until, later, billed_at } = PriceText.properties;
const closed = { additionalProperties: false };

/**
 * A row of the table: keys of a model in a policy. The price in a row has no date and basis, because the source of the row has the date,
 * and all rows have one basis.
 */
const RowText = Type.Object(
  {
    price: Type.Object(
      {
        ...LINE,
        tiers: Type.Optional(tiers),
        ...{ hours: Type.Optional(hours), service_tiers, until, later: Type.Optional(later), billed_at },
      },
      closed,
    ),
    context_window,
    max_output,
    capabilities,
    released,
    temperature: Type.Optional(temperature),
    /** The number of the price's source in `sources`. Default: 0. */
    source: Type.Optional(Type.Integer({ minimum: 0 })),
  },
  closed,
);
type Row = Static<typeof RowText>;

const Rows = Type.Record(Type.String(), Type.Record(Type.String(), RowText));
const SourceText = Type.Object({
  /** The repository that publishes the list, such as `anomalyco/models.dev`. */
  name: Type.String(),
  /** A commit, a version, or the SHA-256 digest of the list. */
  revision: Type.String({ minLength: 1 }),
  as_of: Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' }),
  copyright: Type.String(),
});
const FileText = Type.Object({
  /** The public lists that the prices come from, the newest first. */
  sources: Type.Array(SourceText, { minItems: 1 }),
  licence: Type.String(),
  /** The copyright lines of further lists, which limits and capabilities come from. */
  other_copyrights: Type.Optional(Type.Array(Type.String())),
  models: Rows,
  /** Names of models that the table no longer has, by preset, if another row looks like a version of them. */
  withheld: Type.Optional(Type.Record(Type.String(), Type.Array(Type.String()))),
});
export type FactsFile = Static<typeof FileText>;
export type FactsRow = Row;

/** A price that was last checked more than so many days ago is too old for the table and for a release. */
export const PRICE_DAYS_MAX = 60;
/** @param today such as `2026-11-28` */
export const isOldPrice = (asOf: string, today: string): boolean =>
  Date.parse(today) - Date.parse(asOf) > PRICE_DAYS_MAX * DAY_MS;

/** The public facts of a chat model: the keys of a model in a policy that others publish. */
export interface ModelFacts
  extends Pick<ModelText, 'context_window' | 'max_output' | 'capabilities' | 'temperature' | 'released'> {
  /** USD per 1M tokens, with the basis `aggregator` and the date of its source. */
  readonly price: PriceText;
}

/** Names a list: `BerriAI/litellm@8943af58`. */
export const sourceText = ({ name, revision }: Pick<FactsFile['sources'][number], 'name' | 'revision'>): string =>
  `${name}@${revision.slice(0, 8)}`;

/** Public models of the known providers, with their prices, limits and capabilities. */
export class FactsTable {
  /** The content of the table's file. */
  readonly file: FactsFile;
  readonly #providers: ReadonlyMap<string, { readonly rows: ReadonlyMap<string, Row>; readonly names: SameModels }>;

  constructor(file: FactsFile) {
    this.file = file;
    const { models, withheld = {} } = file;
    const tableOf = (preset: string, rows: Record<string, Row>) => ({
      rows: new Map(Object.entries(rows)),
      names: new SameModels([...Object.keys(rows), ...(withheld[preset] ?? [])]),
    });
    this.#providers = new Map(Object.entries(models).map(([preset, rows]) => [preset, tableOf(preset, rows)]));
  }

  /** The lists that the facts come from, such as `BerriAI/litellm@8943af58 and anomalyco/models.dev@f3fc6922`. */
  get source(): string {
    return together(this.file.sources.map(sourceText));
  }

  /** Returns the list that the price of a model comes from, such as `BerriAI/litellm@8943af58`; `source` for an unknown model. */
  sourceOf(provider: string, id: string): string {
    const row = this.#providers.get(provider)?.rows.get(id);
    const source = row && this.file.sources[row.source ?? 0];
    return source ? sourceText(source) : this.source;
  }

  /** Returns the date of the oldest price of a provider's models, such as `2026-07-01`; null if the table has none of them. */
  oldestOf(provider: string): string | null {
    const days =
      this.#providers
        .get(provider)
        ?.rows.values()
        .map((row) => this.#asOf(row)) ?? [];
    return [...days].sort()[0] ?? null;
  }

  #asOf({ source = 0 }: Row): string {
    return this.file.sources[source]?.as_of ?? '';
  }

  /**
   * Returns the facts of a model; null if the table has none.
   * @param provider the preset of its provider, such as `openai`
   * @param id the provider's own name of the model
   */
  of(provider: string, id: string): ModelFacts | null {
    return this.#factsIn(this.#providers.get(provider)?.rows.get(id));
  }

  #factsIn(row: Row | undefined): ModelFacts | null {
    if (!row) return null;
    const { source: _, ...facts } = row;
    const price: PriceText = {
      tiers: [],
      hours: [],
      later: [],
      ...row.price,
      as_of: this.#asOf(row),
      basis: 'aggregator',
    };
    return { temperature: true, ...facts, price };
  }

  /**
   * Returns the names of the rows that any spelling of a model may mean, according to `SameModels`. Several rows are versions of the model,
   * and none of them is exactly the requested version. A model that the table no longer has never gets the price of another row.
   * @param provider as in `of`
   */
  rowsOf(provider: string, id: string): readonly string[] {
    const { names, rows } = this.#providers.get(provider) ?? {};
    return names?.namesOf(id).filter((name) => rows?.has(name)) ?? [];
  }

  /** Returns the prices of a provider's models that change with time. */
  changing(provider: string): readonly PriceText[] {
    const rows = [...(this.#providers.get(provider)?.rows.values() ?? [])];
    const changing = rows.filter(({ price }) => price.until !== undefined || price.hours !== undefined);
    return changing.flatMap((row) => this.#factsIn(row)?.price ?? []);
  }

  /** Returns the names of a preset's models, sorted. */
  ids(provider: string): readonly string[] {
    return [...(this.#providers.get(provider)?.rows.keys() ?? [])];
  }
}

/** Loads the table of public facts once. Only wildcards, the importer and `catalog update` need the table. */
export const loadFacts = lazy(async (): Promise<FactsTable> => {
  const { default: file }: { default: unknown } = await import('./facts.json', { with: { type: 'json' } });
  const check = new SchemaCheck(FileText);
  if (!check.accepts(file)) throw new TypeError(`facts.json: ${check.errorOf(file)?.path} is not as facts.ts says`);
  return new FactsTable(file);
});
