/** The members of a JSON object. */
export type Members = Readonly<Record<string, unknown>>;

/**
 * A location in a JSON body: names of members and indexes of lists, from the outside in. The location of the body itself is the empty list.
 */
export type OriginalPath = readonly (string | number)[];

/** A request body as the caller sent it: checked, and without optional fields that were null. Code never changes the original body. */
export interface Original {
  /** The dialect of the body, such as `openai-chat`. */
  readonly dialect: string;
  readonly body: Members;
}

/** A change to an original body. */
export interface Edit {
  readonly at: OriginalPath;
  /** The new value of the member. The value undefined removes the member. To shorten a list, replace the whole list. */
  readonly value: unknown;
}

/**
 * Writes a path in the form that error messages use.
 * @returns a text such as `messages[3].content`
 */
export function pathText(path: OriginalPath): string {
  let text = '';
  for (const step of path) text += typeof step === 'number' ? `[${step}]` : text === '' ? step : `.${step}`;
  return text;
}

/** Returns a text for a path. Two paths never have the same, although a caller may put any sign into the name of a member. */
export const pathKey = (path: OriginalPath): string => JSON.stringify(path);

/** Returns the value at a location of a body; undefined if the body has no such location. */
export function valueAt(body: unknown, path: OriginalPath): unknown {
  let value = body;
  // The loop uses an index, because JavaScript engines iterate the frozen paths five times as slowly with `for … of`.
  for (let at = 0; at < path.length; at++) {
    const step = path[at]!;
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = Reflect.get(value, step);
  }
  return value;
}

/**
 * Returns a copy of a body with other values at some locations. The copy shares everything else with the body and keeps its order, so that
 * the JSON texts differ only at these locations. If two edits are nested, the inner edit applies to the new value of the outer edit.
 * `withEdits` ignores an edit whose location does not exist.
 */
export function withEdits<Body extends object>(body: Body, edits: readonly Edit[]): Body {
  /** The copies that this call has made and may therefore change. */
  const copies = new Set<object>();
  let whole: unknown = body;
  for (const { at, value } of edits) whole = replaced(whole, at, 0, value, copies);
  // Only members inside the body were replaced, so the result has the type of the body.
  return typeof whole === 'object' && whole !== null ? (whole as Body) : body;
}

function replaced(owner: unknown, at: OriginalPath, depth: number, value: unknown, copies: Set<object>): unknown {
  if (typeof owner !== 'object' || owner === null || depth >= at.length) return owner;
  const step = at[depth]!;
  const isLast = depth === at.length - 1;
  if (Array.isArray(owner) && (!isItemOf(owner, step) || (isLast && value === undefined))) return owner;
  const before: unknown = Object.hasOwn(owner, step) ? Reflect.get(owner, step) : undefined;
  const after = isLast ? value : replaced(before, at, depth + 1, value, copies);
  if (after === before) return owner;
  const copy = copies.has(owner) ? owner : Array.isArray(owner) ? [...owner] : { ...owner };
  copies.add(copy);
  if (after === undefined) Reflect.deleteProperty(copy, step);
  // A plain assignment to `__proto__` would change the prototype.
  else Object.defineProperty(copy, step, { value: after, writable: true, enumerable: true, configurable: true });
  return copy;
}

const isItemOf = (list: readonly unknown[], step: string | number): boolean =>
  typeof step === 'number' && Object.hasOwn(list, step);
