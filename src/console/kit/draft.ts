import { membersOf } from '../api/json.ts';

/** An option of a choice: the value that is sent, and its words. */
export interface Option {
  readonly value: string;
  readonly label: string;
}

/** Makes the options of a choice from the words for each value. */
export const optionsOf = (words: Readonly<Record<string, string>>): readonly Option[] =>
  Object.entries(words).map(([value, label]) => ({ value, label }));

/** The values of a form as the viewer typed them, by the paths of their members in the body. */
export type Draft = Readonly<Record<string, unknown>>;

/** Converts a member between the form in which it is sent and the form in which it is typed. */
export interface Coder<Value> {
  /** @param value from a response; undefined or null if the member is missing */
  read(value: unknown): Value;
  /**
   * Returns the value to send.
   * @param before the value with which the form started
   */
  write(value: Value, before: Value): unknown;
}

/** A member of a body that a form can set. */
export interface DraftField {
  /** The path of the member: `name`, `member_defaults.models`. */
  readonly of: string;
  /** The coder of the member; by default the member is a text. The draft contains what the coder reads. */
  readonly kind?: Coder<unknown>;
  /** The initial value in the form for a new item. */
  readonly usual?: unknown;
}

/** Parts of a form that are folded until the viewer opens them. */
export interface Folded<Part> {
  /** The text of the line that opens them. */
  readonly more: string;
  readonly parts: readonly Part[];
}

/** A field, several fields in one row, a heading, or folded parts. */
export type DraftPart = DraftField | readonly DraftField[] | string | Folded<DraftPart>;

export const fieldsOf = (parts: readonly DraftPart[]): readonly DraftField[] =>
  parts.flatMap((part) =>
    typeof part === 'string' ? [] : 'more' in part ? fieldsOf(part.parts) : 'of' in part ? [part] : part,
  );

/** An empty text removes the member. */
const TEXT: Coder<unknown> = {
  read: (value) => (value === undefined || value === null ? '' : String(value)),
  write: (value) => (value === '' ? null : value),
};

const memberAt = (value: unknown, path: string): unknown =>
  path.split('.').reduce((of, name) => membersOf(of)?.[name], value);

/** Makes a draft from a response; null makes an empty draft. */
export const draftOf = (parts: readonly DraftPart[], value: unknown): Draft =>
  Object.fromEntries(fieldsOf(parts).map(({ of, kind = TEXT }) => [of, kind.read(memberAt(value, of))]));

/** Makes the draft for a new item. */
export const newDraft = (parts: readonly DraftPart[]): Draft => ({
  ...draftOf(parts, null),
  ...Object.fromEntries(fieldsOf(parts).flatMap(({ of, usual }) => (usual === undefined ? [] : [[of, usual]]))),
});

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Makes the body of a change. The body contains only the members that differ. */
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
 * Moves a draft to a newer version of the item: members that the viewer typed stay, and all other members get their current values.
 * @param base the version from which the draft started
 */
export const rebased = (draft: Draft, base: Draft, now: Draft): Draft =>
  Object.fromEntries(
    Object.entries(draft).map(([name, value]) => {
      if (isSame(value, base[name])) return [name, now[name]];
      const [typed, from, to] = [membersOf(value), membersOf(base[name]), membersOf(now[name])];
      return [name, typed && from && to ? rebased(typed, from, to) : value];
    }),
  );

/** Converts a text to a number. A text that is not a number is sent unchanged, so that the server refuses it at its field. */
export function numberOf(text: string): number | string | null {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  const value = Number(trimmed);
  return Number.isFinite(value) ? value : trimmed;
}
