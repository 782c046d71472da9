import type { TObject } from '@sinclair/typebox';
import { annotationsOf, type Field } from '../../../core/define/field.ts';
import { memberOf } from '../../../core/define/fields.ts';

/**
 * The values of an object by position, because the names of its members would take two thirds of the text. `core/decision` states the
 * positions, so new members only get positions at the end.
 */
export interface Packing<Value, Stored = Value> {
  pack(value: Value): unknown[];
  /** Gives names to values. No check is needed, because only `pack` writes them. */
  unpack(values: readonly unknown[]): Stored;
  /** Returns the position of a member. */
  at(member: keyof Stored): number;
}

/** Converts the values of one member, if they are not stored as they are. Null is stored as it is. */
export interface MemberPacking {
  /** Returns undefined for a value that is not stored. */
  pack(value: never): unknown;
  unpack(values: never): unknown;
}

/** A stored member. */
interface Row {
  readonly member: string;
  /** Whether the program's object may lack the member. A stored null then stands for a member that the object lacks. */
  readonly isRare: boolean;
  readonly packing: MemberPacking | undefined;
  /** Gives the stored value, if it is not the member as it is; undefined if it is not stored. */
  readonly read: ((members: Members) => unknown) | undefined;
}
type Members = Readonly<Record<string, unknown>>;

/**
 * Returns how an object is stored.
 * @param inner the packings of members that have one
 * @param usual the values that are left out at the end of the list, with the members that may be absent
 */
export function packingOf<Value, Stored extends Value = Value>(
  { properties }: Field<TObject, Value>,
  inner: { readonly [Member in keyof Value]?: MemberPacking } = {},
  usual: { readonly [Member in keyof Value]?: Value[Member] } = {},
): Packing<Value, Stored> {
  const rows = rowsOf(properties, inner);
  const isLeftOut = ({ member, isRare }: Row) => isRare || member in usual;
  const usualAt = rows.findIndex(isLeftOut);
  const always = usualAt < 0 ? rows.length : usualAt;
  const missing = rows.map(({ member }) => (usual as Partial<Record<string, unknown>>)[member] ?? null);
  const usualMembers = Object.entries(usual);
  return {
    pack(value) {
      const members = value as Members;
      const values: unknown[] = [];
      for (let at = 0; at < always; at++) values.push(packed(members, rows[at]!));
      for (let at = always; at < rows.length; at++) {
        const stated = packed(members, rows[at]!);
        if (stated === undefined || stated === missing[at]) continue;
        // A list with undefined values would have the same JSON, but JSON.stringify takes several times as long for it.
        while (values.length < at) values.push(missing[values.length]);
        values.push(stated);
      }
      return values;
    },
    // A loop is used because the counting of traffic decodes the outcome of each record, and `Object.fromEntries` takes five times as long.
    unpack(values) {
      const members: Record<string, unknown> = {};
      // A later build, before a downgrade, may have stored more values.
      const known = Math.min(values.length, rows.length);
      for (let at = 0; at < known; at++) {
        const { member, isRare, packing } = rows[at]!;
        const value = values[at] as never;
        if (value === null && isRare) continue;
        members[member] = packing && value !== null ? packing.unpack(value) : value;
      }
      for (const [member, value] of usualMembers) members[member] ??= value;
      return members as Stored;
    },
    at: (member) => rows.findIndex((row) => row.member === member),
  };
}

const packed = (members: Members, { member, read }: Row): unknown => (read ? read(members) : members[member]);

/** Packs each item of a list. */
export const listPacking = <Value>({ pack, unpack }: Packing<Value>): MemberPacking => ({
  pack: (items: readonly Value[]) => items.map((item) => pack(item)),
  unpack: (items: readonly (readonly unknown[])[]) => items.map((item) => unpack(item)),
});

function rowsOf(properties: TObject['properties'], inner: Partial<Record<PropertyKey, MemberPacking>>): readonly Row[] {
  const rows: Row[] = [];
  for (const [name, field] of Object.entries(properties)) {
    const { at, absent, from } = annotationsOf(field);
    if (at === undefined) continue;
    const member = memberOf(name, field);
    if (rows[at]) throw new Error(`\`${member}\` and \`${rows[at].member}\` have the same position.`);
    const packing = inner[member];
    const read = from
      ? (members: Members) => from(members as never)
      : packing && (({ [member]: value }: Members) => (value == null ? value : packing.pack(value as never)));
    rows[at] = { member, isRare: absent !== undefined, packing, read };
  }
  for (let at = 0; at < rows.length; at++) if (!rows[at]) throw new Error(`No member has the position ${at}.`);
  return rows;
}
