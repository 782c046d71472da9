import { type Static, Type } from '@sinclair/typebox';

/*
 * The shapes of the data files that the prompt reader uses. A test checks every file against its shape.
 */
const closed = { additionalProperties: false };
/** What a file or an entry decides. */
const about = Type.String({ minLength: 1 });

/**
 * Words in lists, by sign or by name. A list is an array of lines; blanks separate the patterns of a line. In a pattern `_` stands
 * for a gap between words, and a last `*` for any ending. Case and accents do not count.
 */
export const WordLists = Type.Object(
  {
    about,
    lists: Type.Record(Type.String(), Type.Array(Type.String({ pattern: '^[^\\s*]+\\*?( [^\\s*]+\\*?)*$' }))),
  },
  closed,
);
export type WordLists = Static<typeof WordLists>;

/** Regular expressions by name. */
export const ExpressionFile = Type.Object(
  {
    about,
    expressions: Type.Record(
      Type.String(),
      Type.Object(
        {
          about,
          /** Flags of `RegExp`; without `i`, texts are in lower case unless `about` says otherwise. */
          flags: Type.Optional(Type.String({ pattern: '^[giu]+$' })),
          /** Lines of alternatives: the expression matches where one of them does. */
          any: Type.Array(Type.String({ minLength: 1 }), { minItems: 1 }),
        },
        closed,
      ),
    ),
  },
  closed,
);
type ExpressionFile = Static<typeof ExpressionFile>;

/** Weights of the tasks. `bun bench/fit-profile.ts` writes them. */
export const WeightTable = Type.Object(
  {
    about,
    /** The origin of the figures. */
    source: Type.String(),
    /** Of everything that the figures follow from. */
    digest: Type.String({ pattern: '^[0-9a-f]{16}$' }),
    /** The tasks of the figures in a row, in order. */
    tasks: Type.Array(Type.String()),
    /** By name of a feature or stem: what it adds to the log-odds of each task, in hundredths. */
    rows: Type.Record(Type.String(), Type.Array(Type.Integer())),
  },
  closed,
);
export type WeightTable = Static<typeof WeightTable>;

/** The patterns of a list. */
export const patternsOf = (lines: readonly string[]): readonly string[] => lines.flatMap((line) => line.split(' '));

/** The expressions of a file, by name. */
export function expressionsOf<Name extends string>(file: {
  readonly expressions: Readonly<Record<Name, ExpressionFile['expressions'][string]>>;
}): Readonly<Record<Name, RegExp>> {
  const all = Object.entries<ExpressionFile['expressions'][string]>(file.expressions);
  return Object.fromEntries(all.map(([name, { any, flags }]) => [name, new RegExp(any.join('|'), flags)])) as Record<
    Name,
    RegExp
  >;
}
