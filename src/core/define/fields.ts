import {
  type ArrayOptions,
  type IntegerOptions,
  type NumberOptions,
  type ObjectOptions,
  type SchemaOptions,
  type StringOptions,
  type TArray,
  type TInteger,
  type TLiteral,
  type TNull,
  type TObject,
  type TOptional,
  type TProperties,
  type TSchema,
  type TUnknown,
  Type,
} from '@sinclair/typebox';
import { type ErrorCode, refuse } from '../errors.ts';
import { idText, parseId } from '../id.ts';
import { isObject } from '../json/object.ts';
import { AMOUNT_LENGTH_MAX, type AmountUnit, USD_PER_CREDIT_MAX } from '../money/amount.ts';
import { type Microcredits, toCredits } from '../money/credits.ts';
import { exactMillionths } from '../money/exact-millionths.ts';
import { iso, parseMoment } from '../time/clock.ts';
import {
  type ABSENT,
  type AbsentValue,
  annotate,
  annotated,
  annotationsOf,
  type CALLERS,
  type Codec,
  type CommandForm,
  commandOf,
  decode,
  encode,
  type Field,
  type FROM,
  type MEMBER,
  type ValueOf,
  type WireOf,
  type Worth,
} from './field.ts';
import { type AmountBounds, microcreditsIn } from './stated-amount.ts';

export type { ValueOf } from './field.ts';

/**
 * The words for the schemas of answers, bodies and policies. Schemas of answers stay open (`additionalProperties` is not set), because fields
 * may be added within `/v1`, and a client generated from the OpenAPI document must accept added fields.
 */

/** Defines how a command takes and shows a field. */
export const inCommand = <Schema extends TSchema>(field: Schema, form: CommandForm): Schema =>
  annotate({ ...field }, { command: { ...commandOf(field), ...form } });

/** Gives a field another name in the program's object than in JSON. */
export const as = <const Member extends string, Schema extends TSchema>(member: Member, field: Schema) =>
  annotate({ ...field }, { member }) as Schema & { readonly [MEMBER]: Member };

/**
 * A member that the program's object may lack. JSON then has the given value instead.
 */
export const orAbsent = <Schema extends TSchema>(absent: AbsentValue, field: Schema) =>
  annotate({ ...field }, { absent }) as Schema & { readonly [ABSENT]: true };

/** States the position of a member among the stored values of its object. A position is never used for another member. */
export const stored = <Schema extends TSchema>(at: number, field: Schema): Schema => annotate({ ...field }, { at });

/** Marks a member that callers get in answers to their requests, too. */
export const toCallers = <Schema extends TSchema>(field: Schema) =>
  annotate({ ...field }, { callers: true }) as Schema & { readonly [CALLERS]: true };

/** A stored member that answers do not have in this form. */
export const inProgram = <Value>() => annotated<TUnknown, Value>(Type.Unknown());

/** Defines members of an answer that are computed from an object of the program. */
export const from =
  <Source>() =>
  <Schema extends TSchema>(read: (source: Source) => ValueOf<Schema>, field: Schema) =>
    annotate({ ...field }, { from: read }) as Schema & { readonly [FROM]: (source: Source) => void };

/** A value of the program that answers have in the form that `write` gives. */
export const shown = <Value, Schema extends TSchema>(
  write: (value: Value) => NoInfer<WireOf<Schema>>,
  schema: Schema,
): Field<Schema, Value> =>
  annotated({ ...schema }, { codec: { encode: (value) => write(value as Value), decode: (value) => value } });

/** A value that has its JSON form in the program, too. */
export const onWire = <Schema extends TSchema>(schema: Schema) =>
  annotated<Schema, WireOf<Schema>>({ ...schema }, { codec: undefined });

/** The examples of a value, or the options of its schema. Without an example, the default of a value is its example. */
type About<Example, Options = SchemaOptions> =
  | readonly Example[]
  | readonly [Omit<Options, 'description' | 'examples'> & { readonly example?: unknown }];

const withExamples = (description: string, examples: readonly unknown[]) => ({
  description,
  ...(examples.length > 0 && { examples }),
});

function described(description: string, about: readonly unknown[]): SchemaOptions {
  const [first] = about;
  if (!isObject(first)) return withExamples(description, about);
  const { example, ...options } = first;
  const shown = example ?? options.default;
  return { description, ...options, ...(shown !== undefined && { examples: [shown] }) };
}

export const text = (description: string, ...about: About<string, StringOptions>) =>
  Type.String(described(description, about));

export const figure = (description: string, ...about: About<number, NumberOptions>) =>
  Type.Number(described(description, about));

export const whole = (description: string, ...about: About<number, IntegerOptions>) =>
  Type.Integer(described(description, about));

export const count = (description: string, ...about: About<number, IntegerOptions>) =>
  Type.Integer({ minimum: 0, ...described(description, about) });

/** A number from 0 to 1. */
export const share = (description: string, ...about: About<number, NumberOptions>) =>
  Type.Number({ minimum: 0, maximum: 1, ...described(description, about) });

export const flag = (description: string, ...about: About<boolean, SchemaOptions>) =>
  Type.Boolean(described(description, about));

export const always = <Value extends string>(value: Value) =>
  Type.Literal(value, { description: `Always \`${value}\`.` });

/** One of some words, which may have explanations for editors. */
export const word = <const Word extends string>(
  words: readonly Word[] | Readonly<Record<Word, string>>,
  description: string,
  ...about: About<NoInfer<Word>>
) => Type.Unsafe<Word>(Type.Union(wordSchemas(words), described(description, about)));

const wordSchemas = (words: readonly string[] | Readonly<Record<string, string>>): TSchema[] =>
  Array.isArray(words)
    ? words.map((each) => Type.Literal(each))
    : Object.entries(words).map(([each, description]) => Type.Literal(each, { description }));

/** A text with a documented form. The operation checks the form itself, so that its error can say what would be right. */
export const formed = (description: string, form: StringOptions, ...examples: string[]) =>
  Type.String({ description, ...(examples.length > 0 && { examples }), allOf: [form] });

export const milliseconds = (description: string, example: number) => count(`${description} In ms.`, example);

export const unixTime = (description: string) => count(`${description} Unix time in seconds.`, 1_793_000_000);

const MOMENT: Codec = {
  encode: (value) => iso(value as number),
  decode: (value, path) =>
    parseMoment(String(value)) ?? refuse(path, `\`${path}\` takes 2027-02-18 or 2027-02-18T09:30Z.`),
};

/** A moment: ISO 8601 in UTC in JSON, ms since 1970 in the program. */
export const moment = (description: string, example = '2026-11-20T09:30:00.000Z') =>
  annotated<ReturnType<typeof text>, number>(text(`${description} ISO 8601, UTC.`, example), {
    codec: MOMENT,
    command: { text: minuteText },
  });

/** Writes a moment of the JSON form for people, to the minute. */
export const minuteText = (value: string): string => `${value.slice(0, 16).replace('T', ' ')} UTC`;

/** Writes a moment of the JSON form for people, to the second. */
export const secondText = (value: string): string => `${value.slice(0, 19).replace('T', ' ')} UTC`;

/** A moment or a day in a query, converted to ms since 1970. A day begins at midnight UTC. */
export const momentIn = (description: string) =>
  annotated<ReturnType<typeof formed>, number>(formed(description, { pattern: '^\\d{4}-\\d{2}-\\d{2}' }), {
    codec: MOMENT,
    command: { form: 'TIME' },
  });

/** The ID of a row: text with a prefix in JSON, a number in the program. */
export const id = <Schema extends TSchema>(prefix: string, field: Schema) =>
  annotated<Schema, number>(
    { ...field },
    {
      codec: { encode: (value) => idText(prefix, value as number), decode: (value) => parseId(prefix, String(value)) },
    },
  );

const CREDITS: Codec = {
  encode: (value) => toCredits(value as Microcredits),
  decode: (value, path) => exactMillionths(Number(value), path),
};

/** An amount: Credits with at most 6 decimals in JSON, microcredits in the program. */
export const credits = (description: string, example: number, bounds: NumberOptions = {}) =>
  annotated<ReturnType<typeof figure>, Microcredits>(
    Object.assign(figure(`${description} In Credits, at most 6 decimals.`, example), bounds),
    { codec: CREDITS },
  );

/**
 * An amount that a request states: a number in the given unit, or a text such as `20 USD`. The program has microcredits.
 * @param bounds of the amount, in Credits
 * @param bare the unit of a number; a field in USD refuses Credits
 */
export const amount = (description: string, example: number, bounds: AmountBounds, bare: AmountUnit = 'Credits') => {
  // The worth of a Credit is not known here, so the exact maximum of USD is checked when the amount is read.
  const ofNumber =
    bare === 'Credits' ? bounds : { minimum: bounds.minimum, maximum: bounds.maximum * USD_PER_CREDIT_MAX };
  const schema = Type.Union([Type.Number(ofNumber), Type.String({ minLength: 1, maxLength: AMOUNT_LENGTH_MAX })], {
    description: `${description} A number is in ${bare}; a text such as \`$20\`, \`20 USD\` or \`20,000\` may state its unit.`,
    examples: [example, '$20', '20 USD', '20,000'],
  });
  return annotated<typeof schema, Microcredits>(schema, {
    takesUsd: true,
    command: { form: 'AMOUNT' },
    codec: {
      encode: (value) => toCredits(value as Microcredits),
      decode: (value, path, usdPerCredit) => microcreditsIn(value, path, { bare, usdPerCredit }, bounds),
    },
  });
};

const USD: Codec = { encode: (value, worth) => worth.usd(value as Microcredits), decode: (value) => value };

/** The USD value of an amount, in answers: an exact decimal as text, because a JSON number would lose digits. The program has microcredits. */
export const usd = (description: string, example: string) =>
  annotated<ReturnType<typeof text>, Microcredits>(text(`${description} ${USD_END}`, example), { codec: USD });
const USD_END = 'In USD, an exact decimal.';

/** Writes a value in the form of answers. @param worth needed for a value that states USD */
export const json = <Schema extends TSchema>(schema: Schema, value: ValueOf<Schema>, worth: Worth = WORTHLESS) =>
  encode(schema, value, worth) as WireOf<Schema>;
const WORTHLESS: Worth = { usd: () => null };

/** Whether a field, or a field inside it, contains USD. */
export const statesUsd = (schema: TSchema): boolean =>
  schema.description?.endsWith(USD_END) === true || innerOf(schema).some(statesUsd);

/** Whether a field, or a field inside it, can be given in USD. */
export const takesUsd = (schema: TSchema): boolean =>
  annotationsOf(schema).takesUsd === true || innerOf(schema).some(takesUsd);

const innerOf = ({ items, anyOf = [], properties = {} }: TSchema): readonly TSchema[] =>
  [items, ...anyOf, ...Object.values(properties)].filter((inner) => inner !== undefined);

const NULLABLE: Codec = {
  encode: (value, worth, { anyOf: [inner] }) => (value === null ? null : encode(inner, value, worth)),
  decode: (value, path, usdPerCredit, { anyOf: [inner] }) =>
    value === null ? null : decode(inner, value, usdPerCredit, path),
};

/** A value, or null. */
export const orNull = <Schema extends TSchema>(field: Schema, description?: string, ...examples: unknown[]) => {
  const schema = Type.Union([field, Type.Null()], withExamples(description ?? field.description ?? '', examples));
  const { codec, command } = annotationsOf(field);
  return annotated<typeof schema, ValueOf<Schema> | null>(schema, {
    ...(command && { command }),
    ...(codec && { codec: NULLABLE }),
  });
};

export const textOrNull = (description: string, ...examples: (string | null)[]) =>
  orNull(Type.String(), description, ...examples);

export const flagOrNull = (description: string, ...examples: boolean[]) =>
  orNull(Type.Boolean(), description, ...examples);

export const figureOrNull = (description: string, ...examples: (number | null)[]) =>
  orNull(Type.Number(), description, ...examples);

/** A whole number, or null. */
export const wholeOrNull = (description: string, ...examples: (number | null)[]) =>
  orNull(Type.Integer(), description, ...examples);

const LIST: Codec = {
  encode: (value, worth, { items }) => (value as readonly unknown[]).map((one) => encode(items, one, worth)),
  decode: (value, path, usdPerCredit, { items }) =>
    (value as readonly unknown[]).map((one, at) => decode(items, one, usdPerCredit, `${path}[${at}]`)),
};

/** A list without a description of its own. */
export const items = <Schema extends TSchema>(item: Schema, options?: ArrayOptions) =>
  annotated<TArray<Schema>, readonly ValueOf<Schema>[]>(
    Type.Array(item, options),
    annotationsOf(item).codec && { codec: LIST },
  );

/** A list of values. */
export const list = <Schema extends TSchema>(
  item: Schema,
  description: string,
  ...about: About<readonly unknown[], ArrayOptions>
) => {
  const schema = Type.Array(item, described(description, about));
  return annotated<typeof schema, readonly ValueOf<Schema>[]>(schema, annotationsOf(item).codec && { codec: LIST });
};

export const textList = (description: string, ...examples: string[][]) => list(Type.String(), description, ...examples);

export const textListOrNull = (description: string, ...examples: (string[] | null)[]) =>
  orNull(items(Type.String()), description, ...examples);

/** A map whose names are free, such as labels. */
export const mapOf = <Value extends TSchema>(value: Value, description: string, ...examples: object[]) =>
  Type.Record(Type.String(), value, withExamples(description, examples));

/** A member that may be absent. */
export const optional = <Schema extends TSchema>(field: Schema) => Type.Optional(field) as TOptional<Schema>;

/** A member that may be absent or null. Null is kept. */
export const optionalOrNull = <Schema extends TSchema>(schema: Schema) =>
  Type.Optional(Type.Union([schema, Type.Null()]));

type Camel<Name> = Name extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : Name;
type MemberOf<Name, Schema> = Schema extends { readonly [MEMBER]: infer Member extends string } ? Member : Camel<Name>;
/** Names of members that may be absent, or that always have the same value and therefore need not be given. */
type OptionalName<P extends TProperties> = {
  [Name in keyof P]: P[Name] extends TOptional<TSchema> | TLiteral | { readonly [ABSENT]: true } ? Name : never;
}[keyof P];
/** A member that is absent in the program is null in JSON only. */
type MemberValue<Schema> = Schema extends { readonly [ABSENT]: true }
  ? Exclude<ValueOf<Schema>, null> | undefined
  : ValueOf<Schema>;

/** Names of members that are computed, which the program's object lacks. */
type ComputedName<P extends TProperties> = {
  [Name in keyof P]: P[Name] extends { readonly [FROM]: unknown } ? Name : never;
}[keyof P];

/** The type of an object in the program. */
export type ObjectValue<P extends TProperties> = {
  readonly [Name in Exclude<keyof P, OptionalName<P> | ComputedName<P>> as MemberOf<Name, P[Name]>]: MemberValue<
    P[Name]
  >;
} & {
  readonly [Name in Exclude<OptionalName<P>, ComputedName<P>> as MemberOf<Name, P[Name]>]?:
    | MemberValue<P[Name]>
    | undefined;
};

/** Members that are computed from a source, or that the source has with the type of the field. */
type MembersOf<Source, P extends TProperties> = {
  readonly [Name in keyof P]: P[Name] extends TLiteral | { readonly [FROM]: (source: Source) => void }
    ? P[Name]
    : Source extends { readonly [Member in MemberOf<Name, P[Name]>]: MemberValue<P[Name]> }
      ? P[Name]
      : P[Name] extends TOptional<TSchema> | { readonly [ABSENT]: true }
        ? Source extends { readonly [Member in MemberOf<Name, P[Name]>]?: MemberValue<P[Name]> | undefined }
          ? P[Name]
          : never
        : never;
};

type Values = Readonly<Record<string, unknown>>;

const SHAPE: Codec = {
  encode: (value, worth, { properties }) =>
    Object.fromEntries(
      Object.entries<TSchema>(properties).flatMap(([name, field]) => {
        const { from, absent } = annotationsOf(field);
        const stated = from ? from(value as never) : (value as Values)[memberOf(name, field)];
        const member = stated === undefined ? field.const : stated;
        if (member !== undefined) return [[name, encode(field, member, worth)]];
        return absent === undefined ? [] : [[name, absent]];
      }),
    ),
  decode: (value, path, usdPerCredit, { properties }) =>
    Object.fromEntries(
      Object.entries<TSchema>(properties).flatMap(([name, field]) => {
        const stated = (value as Values)[name];
        if (stated === undefined) return [];
        return [[memberOf(name, field), decode(field, stated, usdPerCredit, path ? `${path}.${name}` : name)]];
      }),
    ),
};

/** The names of members in camel case, by their names in snake case. */
const CAMEL = new Map<string, string>();
const camel = (name: string): string =>
  CAMEL.getOrInsertComputed(name, () => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()));

/** Returns the name of a member in the program's object. */
export const memberOf = (name: string, field: TSchema): string => annotationsOf(field).member ?? camel(name);

/** An object without a description of its own, such as an item of a list. */
export const row = <P extends TProperties>(members: P, options: ObjectOptions = {}) =>
  annotated<TObject<P>, ObjectValue<P>>(Type.Object(members, options), { codec: SHAPE });

/** An object. The members of the object are in snake case in JSON and in camel case in the program. */
export const shape = <P extends TProperties>(description: string, members: P, options: ObjectOptions = {}) =>
  row(members, { description, ...options });

/** An object of an answer, made from an object of the program: from its members, and from members computed with `from`. */
export const view =
  <Source>() =>
  <P extends TProperties>(description: string, members: P & MembersOf<Source, P>, options: ObjectOptions = {}) =>
    annotated<TObject<P>, Source>(Type.Object(members as P, { description, ...options }), { codec: SHAPE });

/** The same without a description of its own, such as an item of a list. */
export const viewRow =
  <Source>() =>
  <P extends TProperties>(members: P & MembersOf<Source, P>) =>
    annotated<TObject<P>, Source>(Type.Object(members as P), { codec: SHAPE });

/** A member as callers get it: absent where answers to operators have null. */
type ForCallers<Schema> = Schema extends {
  readonly [ABSENT]: true;
  readonly anyOf: [infer Inner extends TSchema, TNull];
}
  ? TOptional<Inner>
  : Schema;
type MembersForCallers<P extends TProperties> = {
  [Name in keyof P as P[Name] extends { readonly [CALLERS]: true } ? Name : never]: ForCallers<P[Name]>;
};

/** The members of an object that callers get. A member that the program's object may lack is absent there, not null. */
export const forCallers = <Source, P extends TProperties>({ properties }: Field<TObject<P>, Source>) =>
  annotated<TObject<MembersForCallers<P>>, Source>(
    Type.Object(
      Object.fromEntries(
        Object.entries<TSchema>(properties).flatMap(([name, field]) => {
          const { callers, absent, member = camel(name) } = annotationsOf(field);
          if (!callers) return [];
          return [[name, absent === undefined ? field : Type.Optional(as(member, field.anyOf[0]))]];
        }),
      ) as MembersForCallers<P>,
    ),
    { codec: SHAPE },
  );

/**
 * Returns what writes an object of the program in the form of answers. It does the same as `json`, but reads the schema once, so that
 * answers to requests cost no more than with a function written by hand.
 */
export function writerOf<P extends TProperties, Value extends object>({ properties }: Field<TObject<P>, Value>) {
  const rows = Object.entries<TSchema>(properties).map(([name, field]) => {
    const { codec } = annotationsOf(field);
    const write =
      codec && ((stated: unknown) => (stated === undefined ? stated : codec.encode(stated, WORTHLESS, field)));
    return { name, member: memberOf(name, field) as keyof Value, write };
  });
  return (value: Value): WireOf<TObject<P>> => {
    const answer: Record<string, unknown> = {};
    for (const { name, member, write } of rows) answer[name] = write ? write(value[member]) : value[member];
    return answer as WireOf<TObject<P>>;
  };
}

/** The schema of a list of objects. */
export const rows = <P extends TProperties>(description: string, members: P, ...examples: unknown[][]) =>
  list(row(members), description, ...examples);

/** The schema of an object, or null. */
export const shapeOrNull = <P extends TProperties>(description: string, members: P, ...examples: unknown[]) =>
  orNull(row(members), description, ...examples);

/** An object of an answer that has its own name in the OpenAPI document. */
export const named = <P extends TProperties>(title: string, description: string, members: P) =>
  shape(description, members, { title });

/** The body of a request, a map of a policy, or an object inside them. Other members are refused. */
export const closed = <P extends TProperties>(description: string, members: P, options: ObjectOptions = {}) =>
  shape(description, members, { ...options, additionalProperties: false });

/** For objects that may have members beyond the schema's. */
export const open = { additionalProperties: true } as const;

/** An object in a request that keeps members which the schema does not name. */
export const openShape = <Properties extends TProperties>(properties: Properties, options: SchemaOptions = {}) =>
  Type.Object(properties, { ...open, ...options });

/** The schema of an open object with a fixed `type`. */
export const tagged = <Tag extends string, Properties extends TProperties>(
  type: Tag,
  properties: Properties,
  options: SchemaOptions = {},
) => openShape({ type: Type.Literal(type), ...properties }, options);

/**
 * An open object with any `type` except the given ones, which have schemas of their own. The static type of the object's `type` is a
 * literal, so that the compiler can tell the variants of a union apart.
 */
export const otherThan = (types: readonly string[], ofType: StringOptions = {}, options: SchemaOptions = {}) => {
  const type = Type.String({ pattern: `^(?!(?:${types.join('|')})$)`, ...ofType });
  return openShape({ type: Type.Unsafe<'(unnamed)'>(type) }, options);
};

/** A value in which a member is never absent. */
type With<Value, Member extends keyof Value> = Value & {
  readonly [Name in Member]-?: Exclude<Value[Name], undefined>;
};

/**
 * An object that has one member of the program under several names in JSON. Exactly one of the names must be given.
 */
export const exactlyOne = <P extends TProperties, Value, Member extends keyof Value>(
  object: Field<TObject<P>, Value>,
  member: Member,
) => {
  const names = Object.keys(object.properties).filter((name) => memberOf(name, object.properties[name]!) === member);
  const list = names.map((name) => `\`${name}\``).join(' or ');
  return annotated<TObject<P>, With<Value, Member>>(
    Object.assign(object, { oneOf: names.map((name) => ({ required: [name] })) }),
    {
      codec: {
        ...SHAPE,
        decode(value, path, ...terms) {
          const stated = names.filter((name) => (value as Values)[name] !== undefined);
          const at = `${path}.${stated.at(-1) ?? names[0]}`;
          if (stated.length === 0) refuse(at, `\`${path}\` needs ${list}.`, 'missing_field');
          if (stated.length > 1) refuse(at, `\`${path}\` takes ${list}, not both.`);
          return SHAPE.decode(value, path, ...terms);
        },
      },
    },
  );
};

/** Makes all members optional. */
export const allOptional = <P extends TProperties>(members: P) =>
  Object.fromEntries(Object.entries(members).map(([name, field]) => [name, Type.Optional(field)])) as {
    [Name in keyof P]: TOptional<P[Name]>;
  };

/** The fields of an answer that is a list. */
export const listMembers = <Items extends TSchema>(items: Items, description?: string) => ({
  object: always('list'),
  data: Type.Array(items, description === undefined ? {} : { description }),
});

/** The answer of a list that has pages, with `has_more`. */
export const page = <Schema extends TSchema>(title: string, description: string, item: Schema, order: string) =>
  named(title, description, {
    object: always('list'),
    data: list(item, order),
    has_more: flag('Whether more items follow. To get them, repeat the request with the last `id`.', false),
  });

interface PageSize {
  readonly most: number;
  /** The number of items if the request does not state it. */
  readonly unlessGiven: number | 'all';
  /** The noun of the items, if `How many` alone is unclear. */
  readonly of?: string;
  /** A sentence about the items that are left out. */
  readonly end?: string;
  /** The error code for a number out of range. */
  readonly code?: ErrorCode;
}

/** The number of items that a list returns. The value is undefined if the request does not state it. */
export const pageSize = ({ most, unlessGiven, of, end = 'A page also ends at 1 MiB.', code }: PageSize) =>
  optional(
    annotated<TInteger, number>(
      Type.Integer({
        minimum: 1,
        maximum: most,
        description: `The most ${of ? `${of} ` : 'items '}to return; by default ${unlessGiven}. ${end}`.trimEnd(),
      }),
      { refusal: code },
    ),
  );

/**
 * The ID after which a page of a list begins.
 * @param of the noun of the items
 */
export const afterLast = (of: string) =>
  optional(inCommand(formed(`The ID of the last ${of} of the previous page.`, { minLength: 1 }), { form: 'ID' }));
