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
/** The fields of a file, each with its meaning. */
const fields = Type.Record(Type.String(), Type.String());

/**
 * Words in lists, by sign or by name. A list is an array of lines, and spaces separate the patterns of a line. In a pattern, `_` stands for
 * a gap between words, and a final `*` for any ending. The matching of patterns ignores case and accents.
 */
export const WordLists = Type.Object(
  {
    about,
    lists: Type.Record(Type.String(), Type.Array(Type.String({ pattern: '^[^\\s*]+\\*?( [^\\s*]+\\*?)*$' }))),
  },
  closed,
);
export type WordLists = Static<typeof WordLists>;

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

/** Weights of the features. The command `bun bench/fit-profile.ts` writes them. */
export const WeightTable = Type.Object(
  {
    about,
    source,
    /** A digest of everything that determines the weights. */
    digest: Type.String({ pattern: '^[0-9a-f]{16}$' }),
    /** The tasks, and the columns after them, in the order of the weights in a row. */
    columns: Type.Array(Type.String()),
    /** For each feature, the amount that it adds to the log odds of each column, in hundredths. */
    rows: Type.Record(Type.String(), Type.Array(Type.Integer())),
  },
  closed,
);
export type WeightTable = Static<typeof WeightTable>;

/** The table of words. The command `bun bench/fit-profile.ts` writes it. */
export const WordTableFile = Type.Object({ about, source, base64: Type.String({ minLength: 1 }) }, closed);

/** The features of a question. */
export const FeatureFile = Type.Object(
  {
    about,
    source,
    fields,
    lists: Type.Record(Type.String(), Type.String()),
    features: Type.Array(
      Type.Object(
        {
          name: Type.String({ minLength: 1 }),
          each: Type.Optional(Type.String()),
          figure: Type.Optional(Type.String()),
          most: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
          requires: Type.Optional(Type.String()),
          when: Type.Optional(Type.Array(Type.String(), { minItems: 1 })),
        },
        closed,
      ),
    ),
  },
  closed,
);
export type FeatureFile = Static<typeof FeatureFile>;

const tokens = Type.Optional(Type.Number({ exclusiveMinimum: 0 }));
const role = Type.Union(['lead', 'on_text', 'object', 'thing'].map((name) => Type.Literal(name)));

/** The signs, in order. The file of signs describes each of its fields. */
export const SignFile = Type.Object(
  {
    about,
    fields,
    votes: Type.Record(Type.String(), Type.Number({ exclusiveMinimum: 0 })),
    weights: Type.Record(Type.String(), Type.Number({ exclusiveMinimum: 0 })),
    signs: Type.Record(
      Type.String({ pattern: '^[a-z_]+$' }),
      Type.Object(
        {
          means: Type.String({ minLength: 1 }),
          noun: Type.Optional(Type.Boolean()),
          roles: Type.Optional(Type.Array(role, { minItems: 1 })),
          unit_tokens: tokens,
          answer_tokens: tokens,
          piece_tokens: tokens,
        },
        closed,
      ),
    ),
  },
  closed,
);
type SignFile = Static<typeof SignFile>;
export type SignRow = SignFile['signs'][string];

const codeUnit = Type.String({ pattern: '^[0-9a-f]{4}$' });
const vote = Type.Number({ exclusiveMinimum: 0, maximum: 1 });

/** Letters that indicate a natural language. The file of letters describes each of its fields. */
export const LetterFile = Type.Object(
  {
    about,
    fields,
    votes: Type.Object({ script: vote, shared_script: vote, typical_letter: vote }, closed),
    scripts: Type.Array(
      Type.Object(
        { from: codeUnit, to: codeUnit, language: Type.String(), shared: Type.Optional(Type.Boolean()) },
        closed,
      ),
    ),
    typical_letters: Type.Record(Type.String(), Type.String()),
  },
  closed,
);
export type LetterFile = Static<typeof LetterFile>;
