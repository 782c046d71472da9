import { membersOf } from '../api/json.ts';

/** A choice: what is sent, and its words. */
export interface Option {
  readonly value: string;
  readonly label: string;
}

/** The options of a choice, from the words for each value. */
export const optionsOf = (words: Readonly<Record<string, string>>): readonly Option[] =>
  Object.entries(words).map(([value, label]) => ({ value, label }));

/** What a form has, by the paths of its members in the body, in the form in which each is typed. */
export type Draft = Readonly<Record<string, unknown>>;

/** How a member is typed where that differs from how it is sent. */
export interface Coder<Value> {
  /** @param value of an answer; undefined or null for none */
  read(value: unknown): Value;
  /** What is sent. @param before what the form began with */
  write(value: Value, before: Value): unknown;
}

/** A member of a body that a form can set, as far as its draft goes. */
export interface DraftField {
  /** Its path: `name`, `member_defaults.models`. */
  readonly of: string;
  /** A text unless stated. The draft has what the kind reads. */
  readonly kind?: Coder<unknown>;
  /** What the form for a new one begins with. */
  readonly usual?: unknown;
}

/** A field; several fields in a row; a heading. */
export type DraftPart = DraftField | readonly DraftField[] | string;

export const fieldsOf = (parts: readonly DraftPart[]): readonly DraftField[] =>
  parts.flatMap((part) => (typeof part === 'string' ? [] : part)) as readonly DraftField[];

/** An empty text removes a member. */
const TEXT: Coder<unknown> = {
  read: (value) => (value === undefined || value === null ? '' : String(value)),
  write: (value) => (value === '' ? null : value),
};

const memberAt = (value: unknown, path: string): unknown =>
  path.split('.').reduce((of, name) => membersOf(of)?.[name], value);

/** The draft of an answer; of null, without anything. */
export const draftOf = (parts: readonly DraftPart[], value: unknown): Draft =>
  Object.fromEntries(fieldsOf(parts).map(({ of, kind = TEXT }) => [of, kind.read(memberAt(value, of))]));

/** The draft of a new one. */
export const newDraft = (parts: readonly DraftPart[]): Draft => ({
  ...draftOf(parts, null),
  ...Object.fromEntries(fieldsOf(parts).flatMap(({ of, usual }) => (usual === undefined ? [] : [[of, usual]]))),
});

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** The body of a change, with the members that differ alone. */
export function bodyOf(parts: readonly DraftPart[], draft: Draft, before: Draft): Draft {
  const body = {};
  for (const { of, kind = TEXT } of fieldsOf(parts)) {
    if (!isSame(draft[of], before[of])) put(body, of.split('.'), kind.write(draft[of], before[of]));
  }
  return body;
}

function put(body: Record<string, unknown>, [name = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    body[name] = value;
    return;
  }
  const inner = { ...membersOf(body[name]) };
  body[name] = inner;
  put(inner, rest, value);
}

/**
 * A draft on a newer version of what it changes: members that were typed stay, and the others have their current values.
 * @param base the version that the draft began from
 */
export const rebased = (draft: Draft, base: Draft, now: Draft): Draft =>
  Object.fromEntries(
    Object.entries(draft).map(([name, value]) => {
      if (isSame(value, base[name])) return [name, now[name]];
      const [typed, from, to] = [membersOf(value), membersOf(base[name]), membersOf(now[name])];
      return [name, typed && from && to ? rebased(typed, from, to) : value];
    }),
  );

/** A number; a text that is none is sent as it is, and refused at its field. */
export function numberOf(text: string): number | string | null {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  const value = Number(trimmed);
  return Number.isFinite(value) ? value : trimmed;
}
