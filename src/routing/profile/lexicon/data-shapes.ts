import { type Static, Type } from '@sinclair/typebox';

/*
 * The shapes of the data files that the prompt reader uses. A test checks every data file against its shape, and the program only uses the
 * types.
 */
const closed = { additionalProperties: false };
/** A description of the decision that a file or an entry serves. */
const about = Type.String({ minLength: 1 });
/** The origin of the figures of a file. */
const source = Type.String({ minLength: 1 });
/** Words, separated by spaces. `_` separates the words of a phrase. */
const words = Type.String({ pattern: '^[^\\s]+( [^\\s]+)*$' });

/** Texts with which people say that an answer is wrong, in lower case, by language. */
export const CorrectionFile = Type.Object(
  {
    about,
    corrections: Type.Record(Type.String({ pattern: '^[a-z]{2}$' }), Type.Array(Type.String({ minLength: 2 }))),
  },
  closed,
);

/** Regular expressions by name, with the numbers that the code uses together with them. */
export const ExpressionFile = Type.Object(
  {
    about,
    source: Type.Optional(source),
    figures: Type.Optional(Type.Record(Type.String(), Type.Object({ about, value: Type.Number() }, closed))),
    expressions: Type.Record(
      Type.String(),
      Type.Object(
        {
          about,
          /** Flags of `RegExp`. Without `i`, the expression is matched against text in lower case, unless `about` says otherwise. */
          flags: Type.Optional(Type.String({ pattern: '^[gimu]+$' })),
          /** The alternatives of an expression, one per line. The expression matches if one of its alternatives matches. */
          any: Type.Array(Type.String({ minLength: 1 }), { minItems: 1 }),
        },
        closed,
      ),
    ),
  },
  closed,
);
export type ExpressionFile = Static<typeof ExpressionFile>;

/** Words of lengths, and expressions and figures that `ExpressionFile` describes. */
export const AnswerFile = Type.Composite(
  [
    ExpressionFile,
    Type.Object({
      units: Type.Record(Type.String(), Type.Object({ tokens: Type.Number({ exclusiveMinimum: 0 }), words }, closed)),
      numerals: Type.Record(Type.String({ pattern: '^\\d+$' }), words),
      limits: words,
    }),
  ],
  closed,
);

/** Names of programming languages, by canonical name. */
const names = Type.Record(Type.String(), words);
export const ProgrammingFile = Type.Object({ about, names, everyday: names, extensions: names }, closed);

/** The fitted tables. The command `bun bench/fit-profile.ts` writes them. */
export const TablesFile = Type.Object(
  {
    about,
    source,
    /** A digest of everything that determines the tables. */
    digest: Type.String({ pattern: '^[0-9a-f]{16}$' }),
    tasks: Type.Object(
      { scales: Type.Array(Type.Number({ exclusiveMinimum: 0 })), base64: Type.String({ minLength: 1 }) },
      closed,
    ),
    languages: Type.Object(
      { names: Type.Array(Type.String({ pattern: '^[a-z]{2}$' })), base64: Type.String({ minLength: 1 }) },
      closed,
    ),
  },
  closed,
);
