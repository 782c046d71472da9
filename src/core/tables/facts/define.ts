/** Maps each CEL type of a fact to the JavaScript type of its values. Numbers in expressions are doubles. */
export interface FactValues {
  readonly double: number;
  readonly string: string;
  readonly bool: boolean;
  readonly 'list<string>': readonly string[];
  /** A missing key reads as the empty text. */
  readonly 'map<string, string>': ReadonlyMap<string, string>;
}
type FactType = keyof FactValues;

interface FactOf<Type extends FactType, Source> {
  readonly type: Type;
  /** The meaning, in a sentence for editors and the reference. */
  readonly means: string;
  /** The value in a request without optional fields. */
  readonly empty: FactValues[Type];
  /** Reads the value. It is called only if a condition uses the fact. */
  readonly read: (source: Source) => FactValues[Type];
  /** The least and the greatest value; absent if the fact has no such bounds. */
  readonly range?: readonly [low: number, high: number];
}

/** A fact that conditions can read. */
export type Fact<Source> = { [Type in FactType]: FactOf<Type, Source> }[FactType];

export type FactTable<Source> = Readonly<Record<string, Fact<Source>>>;

/** The facts of a table by name. */
export type FactsOf<Table extends FactTable<never>> = {
  readonly [Name in keyof Table]: FactValues[Table[Name]['type']];
};

/** The CEL type and the meaning of each fact. */
type FactFields<Table extends FactTable<never>> = {
  readonly [Name in keyof Table]: readonly [type: Table[Name]['type'], means: string];
};

// `Object.fromEntries` loses the names; the tables have them.
const columnOf = (table: FactTable<never>, cellOf: (fact: Fact<never>) => unknown): unknown =>
  Object.fromEntries(Object.entries(table).map(([name, fact]) => [name, cellOf(fact)]));

export const fieldsOf = <Table extends FactTable<never>>(table: Table) =>
  columnOf(table, ({ type, means }) => [type, means]) as FactFields<Table>;

/** Returns the facts of a request without optional fields. */
export const emptyFacts = <Table extends FactTable<never>>(table: Table) =>
  columnOf(table, ({ empty }) => empty) as FactsOf<Table>;

/** Returns a function that gives the facts of a source. A fact is read when it is first used. */
export function factReader<Source, Table extends FactTable<Source>>(table: Table): (source: Source) => FactsOf<Table> {
  class ReadFacts {
    readonly source: Source;
    readonly known: unknown[] = [];
    constructor(source: Source) {
      this.source = source;
    }
  }
  for (const [at, [name, { read }]] of Object.entries(table).entries()) {
    Object.defineProperty(ReadFacts.prototype, name, {
      get(this: ReadFacts) {
        this.known[at] ??= read(this.source);
        return this.known[at];
      },
    });
  }
  return (source) => new ReadFacts(source) as unknown as FactsOf<Table>;
}

export const NO_TEXTS: ReadonlyMap<string, string> = new Map();

/** Returns texts by key in the form of a fact. */
export const textMap = (texts: Readonly<Record<string, string>> | undefined): ReadonlyMap<string, string> =>
  texts === undefined ? NO_TEXTS : new Map(Object.entries(texts));
