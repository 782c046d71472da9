import {
  type NumberOptions,
  type SchemaOptions,
  type Static,
  type StringOptions,
  type TInteger,
  type TLiteral,
  type TObject,
  type TOptional,
  type TProperties,
  type TSchema,
  Type,
} from '@sinclair/typebox';
import * as parts from '../../core/api/parts.ts';
import { type ErrorCode, refuse } from '../../core/errors.ts';
import { AMOUNT_LENGTH_MAX, type AmountUnit, USD_PER_CREDIT_MAX } from '../../core/money/amount.ts';
import { type Microcredits, toCredits } from '../../core/money/credits.ts';
import type { Decimal } from '../../core/money/decimal.ts';
import { exactMillionths } from '../../core/money/exact-millionths.ts';
import { iso, parseMoment } from '../../core/time/clock.ts';
import { type AmountBounds, microcreditsIn } from './stated-amount.ts';

/**
 * The fields of operations. A field is the JSON Schema of a value, and also defines the form of the value in the program. Amounts are
 * Credits in JSON and microcredits in the program, moments are ISO 8601 and ms since 1970, and names are in snake case and in camel case. A
 * shape therefore states each member once and needs no mapper.
 */

/** Converts amounts to USD for answers, which state both. */
export interface Worth {
  /** Returns USD as an exact decimal; null if the value of a Credit is unknown. */
  usd(amount: Microcredits): string | null;
}

/** Converts a value between its form in the program and its JSON form. */
interface Codec {
  encode(value: unknown, worth: Worth): unknown;
  /**
   * @param path the path of the value in the input
   * @param usdPerCredit the worth of a Credit, for amounts of USD; null if it is unknown
   * @throws SignalboxError
   */
  decode(value: unknown, path: string, usdPerCredit: Decimal | null): unknown;
}

/** How a command takes and shows a field. Without a form, a command takes and shows a field according to the schema of the field. */
export interface CommandForm {
  /**
   * The name of the flag, or the prefix of the flags of an object's members. The default flag is the name of the field in kebab case,
   * without the plural `s` of a list.
   */
  readonly flag?: string;
  /** Whether the field is an argument after the ID instead of a flag. */
  readonly isPositional?: boolean;
  /** Whether the field has no flag, because the flag of another member sets it. */
  readonly isWithoutFlag?: boolean;
  /** Whether the text of the flag has several values, separated by commas. */
  readonly hasCommas?: boolean;
  /** The placeholder of the value in the usage, such as `30d`. */
  readonly form?: string;
  /** Words that are not accepted as values. The error for such a word says which flag to use instead, or to leave the flag out. */
  readonly noValues?: readonly string[];
  /** Describes the flag, if the description of the JSON member does not fit a flag. */
  readonly help?: string;
  /**
   * Converts the text of a flag to the JSON value.
   * @throws Error of one sentence
   */
  readonly read?: (text: string) => unknown;
  /** Writes the JSON value for people. `owner` is the row of the table, or the whole answer. */
  readonly text?: (value: never, owner: never) => string;
  /** The title of its column or line; by default its name. */
  readonly title?: string;
  /** Whether a table has a column for each name of a map. */
  readonly isSpread?: boolean;
  /** The text for null and for an empty list. */
  readonly none?: string;
}

const CODEC = Symbol('codec');
const COMMAND = Symbol('command');
const MEMBER = Symbol('member');
const REFUSAL = Symbol('refusal');
const TAKES_USD = Symbol('takes USD');
declare const VALUE: unique symbol;

interface Annotations {
  readonly [CODEC]?: Codec;
  readonly [COMMAND]?: CommandForm;
  readonly [MEMBER]?: string;
  readonly [REFUSAL]?: ErrorCode | undefined;
  readonly [TAKES_USD]?: true;
}

/** A schema whose value has the type `Value` in the program. */
export type Field<Schema extends TSchema = TSchema, Value = Static<Schema>> = Schema & {
  readonly [VALUE]: readonly [Value];
};

/** The type that a value of a schema has in the program. */
export type ValueOf<Schema> = Schema extends { readonly [VALUE]: readonly [infer Value] }
  ? Value
  : Schema extends TSchema
    ? Static<Schema>
    : never;

// The type of the value exists only for the compiler; no field has it at run time.
const annotated = <Schema extends TSchema, Value>(schema: Schema, annotations: Annotations) =>
  Object.assign(schema, annotations) as unknown as Field<Schema, Value>;
const annotationsOf = (schema: TSchema): Annotations => schema as Annotations;

const codecOf = (schema: TSchema): Codec | undefined => annotationsOf(schema)[CODEC];
export const commandOf = (schema: TSchema): CommandForm => annotationsOf(schema)[COMMAND] ?? {};
/** The error code for a number outside of the bounds of a field. */
export const refusalCodeOf = (schema: TSchema): ErrorCode => annotationsOf(schema)[REFUSAL] ?? 'out_of_range';

/** Converts a value of the program to JSON. */
export const encode = (schema: TSchema, value: unknown, worth: Worth): unknown => {
  const codec = codecOf(schema);
  return codec ? codec.encode(value, worth) : value;
};

/**
 * Converts items of a page to JSON to measure their size, because pages have a maximal size. Each USD amount counts with a usual length.
 */
export const sizedAs = (schema: TSchema) => (value: unknown) => encode(schema, value, { usd: () => '0.0000123' });

/**
 * Converts a JSON value that the schema accepts to its form in the program. @throws SignalboxError for values that a schema cannot exclude
 */
export const decode = (schema: TSchema, value: unknown, usdPerCredit: Decimal | null, path = ''): unknown => {
  const codec = codecOf(schema);
  return codec ? codec.decode(value, path, usdPerCredit) : value;
};

/** Defines how a command takes and shows a field. */
export const inCommand = <Schema extends TSchema>(field: Schema, form: CommandForm): Schema =>
  Object.assign({ ...field }, { [COMMAND]: { ...commandOf(field), ...form } });

/** Gives a field another name in the program's object than in JSON. */
export const as = <const Member extends string, Schema extends TSchema>(member: Member, field: Schema) =>
  Object.assign({ ...field }, { [MEMBER]: member }) as Schema & { readonly [MEMBER]: Member };

export const { text, flag, count, word, always } = parts;

/** A moment: ISO 8601 in UTC in JSON, ms since 1970 in the program. */
export const moment = (description: string, example?: string) =>
  inCommand(
    annotated<ReturnType<typeof parts.moment>, number>(parts.moment(description, example), { [CODEC]: MOMENT }),
    { text: minuteText },
  );

const MOMENT: Codec = {
  encode: (value) => iso(value as number),
  decode: (value, path) =>
    parseMoment(String(value)) ?? refuse(path, `\`${path}\` takes 2027-02-18 or 2027-02-18T09:30Z.`),
};

/** Writes a moment of the JSON form for people, to the minute. */
export const minuteText = (value: string): string => `${value.slice(0, 16).replace('T', ' ')} UTC`;

/** Writes a moment of the JSON form for people, to the second. */
export const secondText = (value: string): string => `${value.slice(0, 19).replace('T', ' ')} UTC`;

/** A moment or a day in a query, converted to ms since 1970. A day begins at midnight UTC. */
export const momentIn = (description: string) =>
  inCommand(
    annotated<ReturnType<typeof formed>, number>(formed(description, { pattern: '^\\d{4}-\\d{2}-\\d{2}' }), {
      [CODEC]: MOMENT,
    }),
    { form: 'TIME' },
  );

/** An amount: Credits with at most 6 decimals in JSON, microcredits in the program. */
export const credits = (description: string, example: number, bounds: NumberOptions = {}) =>
  annotated<ReturnType<typeof parts.credits>, Microcredits>(
    Object.assign(parts.credits(description, example), bounds),
    {
      [CODEC]: {
        encode: (value) => toCredits(value as Microcredits),
        decode: (value, path) => exactMillionths(Number(value), path),
      },
    },
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
    [TAKES_USD]: true,
    [COMMAND]: { form: 'AMOUNT' },
    [CODEC]: {
      encode: (value) => toCredits(value as Microcredits),
      decode: (value, path, usdPerCredit) => microcreditsIn(value, path, { bare, usdPerCredit }, bounds),
    },
  });
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
  const codec = codecOf(object);
  const names = Object.keys(object.properties).filter((name) => memberOf(name, object.properties[name]!) === member);
  const list = names.map((name) => `\`${name}\``).join(' or ');
  return annotated<TObject<P>, With<Value, Member>>(
    Object.assign(object, { oneOf: names.map((name) => ({ required: [name] })) }),
    {
      ...(codec && {
        [CODEC]: {
          ...codec,
          decode(value, path, usdPerCredit) {
            const stated = names.filter((name) => (value as Readonly<Record<string, unknown>>)[name] !== undefined);
            const at = `${path}.${stated.at(-1) ?? names[0]}`;
            if (stated.length === 0) refuse(at, `\`${path}\` needs ${list}.`, 'missing_field');
            if (stated.length > 1) refuse(at, `\`${path}\` takes ${list}, not both.`);
            return codec.decode(value, path, usdPerCredit);
          },
        },
      }),
    },
  );
};

/** Whether a field, or a field inside it, can be given in USD. */
export const takesUsd = (schema: TSchema): boolean =>
  annotationsOf(schema)[TAKES_USD] === true || innerOf(schema).some(takesUsd);

/** The USD value of an amount, in answers. The program has microcredits. */
export const usd = (description: string, example: string) =>
  annotated<ReturnType<typeof parts.usd>, Microcredits>(parts.usd(description, example), {
    [CODEC]: { encode: (value, worth) => worth.usd(value as Microcredits), decode: (value) => value },
  });

/** Whether a field, or a field inside it, contains USD. */
export const statesUsd = (schema: TSchema): boolean =>
  schema.description?.endsWith(USD_END) === true || innerOf(schema).some(statesUsd);
const innerOf = ({ items, anyOf = [], properties = {} }: TSchema): readonly TSchema[] =>
  [items, ...anyOf, ...Object.values(properties)].filter((inner) => inner !== undefined);
const USD_END = 'In USD, an exact decimal.';

/** A value, or null. */
export const orNull = <Schema extends TSchema>(field: Schema, description?: string, ...examples: unknown[]) => {
  const schema = parts.orNull(field, description ?? field.description ?? '', ...examples);
  const codec = codecOf(field);
  return annotated<typeof schema, ValueOf<Schema> | null>(schema, {
    [COMMAND]: commandOf(field),
    ...(codec && {
      [CODEC]: {
        encode: (value, worth) => (value === null ? null : codec.encode(value, worth)),
        decode: (value, ...where) => (value === null ? null : codec.decode(value, ...where)),
      },
    }),
  });
};

/** A list of values. */
export const list = <Schema extends TSchema>(item: Schema, description: string, options: SchemaOptions = {}) => {
  const schema = Type.Array(item, { description, ...options });
  const codec = codecOf(item);
  return annotated<typeof schema, readonly ValueOf<Schema>[]>(schema, {
    ...(codec && {
      [CODEC]: {
        encode: (value, worth) => (value as readonly unknown[]).map((one) => codec.encode(one, worth)),
        decode: (value, path, usdPerCredit) =>
          (value as readonly unknown[]).map((one, at) => codec.decode(one, `${path}[${at}]`, usdPerCredit)),
      },
    }),
  });
};

/** A value that has its JSON form in the program, too. */
export const onWire = <Schema extends TSchema>(schema: Schema) => annotated<Schema, object>({ ...schema }, {});

/** A map of texts whose names the schema does not know, such as labels. */
export const { mapOf } = parts;

/** A member that may be absent. */
export const optional = <Schema extends TSchema>(field: Schema) => Type.Optional(field) as TOptional<Schema>;

type Camel<Name> = Name extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : Name;
type MemberOf<Name, Schema> = Schema extends { readonly [MEMBER]: infer Member extends string } ? Member : Camel<Name>;
/** Names of members that may be absent, or that always have the same value and therefore need not be given. */
type OptionalName<P extends TProperties> = {
  [Name in keyof P]: P[Name] extends TOptional<TSchema> | TLiteral ? Name : never;
}[keyof P];

/** The type of an object in the program. */
export type ObjectValue<P extends TProperties> = {
  readonly [Name in Exclude<keyof P, OptionalName<P>> as MemberOf<Name, P[Name]>]: ValueOf<P[Name]>;
} & {
  readonly [Name in OptionalName<P> as MemberOf<Name, P[Name]>]?: ValueOf<P[Name]> | undefined;
};

/** An object. The members of the object are in snake case in JSON and in camel case in the program. */
export function shape<P extends TProperties>(description: string, members: P, options: SchemaOptions = {}) {
  const schema: TObject<P> = Type.Object(members, { description, ...options });
  const named = Object.entries(members).map(([name, field]) => {
    return { name, field, member: memberOf(name, field) };
  });
  return annotated<TObject<P>, ObjectValue<P>>(schema, {
    [CODEC]: {
      encode: (value, worth) => {
        const object = value as Readonly<Record<string, unknown>>;
        return Object.fromEntries(
          named.flatMap(({ name, field, member }) => {
            const value = object[member] === undefined ? field.const : object[member];
            return value === undefined ? [] : [[name, encode(field, value, worth)]];
          }),
        );
      },
      decode: (value, path, usdPerCredit) => {
        const object = value as Readonly<Record<string, unknown>>;
        return Object.fromEntries(
          named.flatMap(({ name, field, member }) =>
            object[name] === undefined
              ? []
              : [[member, decode(field, object[name], usdPerCredit, path ? `${path}.${name}` : name)]],
          ),
        );
      },
    },
  });
}

const memberOf = (name: string, field: TSchema): string => annotationsOf(field)[MEMBER] ?? camel(name);
const camel = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** A shape of an answer that has its own name in the OpenAPI document. */
export const named = <P extends TProperties>(title: string, description: string, members: P) =>
  shape(description, members, { title });

/** The body of a request, or an object inside a body. A body with other members is refused. */
export const body = <P extends TProperties>(description: string, members: P) =>
  shape(description, members, { additionalProperties: false });

/** Makes all members optional. */
export const allOptional = <P extends TProperties>(members: P) =>
  Object.fromEntries(Object.entries(members).map(([name, field]) => [name, Type.Optional(field)])) as {
    [Name in keyof P]: TOptional<P[Name]>;
  };

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
      { [REFUSAL]: code },
    ),
  );

/**
 * The ID after which a page of a list begins.
 * @param of the noun of the items
 */
export const afterLast = (of: string) =>
  optional(inCommand(formed(`The ID of the last ${of} of the previous page.`, { minLength: 1 }), { form: 'ID' }));

/** A text with a documented form. The operation checks the form itself, so that its error can say what would be right. */
export const formed = (description: string, form: StringOptions, ...examples: string[]) =>
  Type.String({ description, ...(examples.length > 0 && { examples }), allOf: [form] });
