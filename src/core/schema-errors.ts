import { type ValueError, ValueErrorType } from '@sinclair/typebox/errors';

/** The member of a schema for an object that says what to do in place of a text, for callers who send one. */
export const TEXT_REMEDY = Symbol('in place of a text');

/** Errors read of one variant of a union before it is given up. */
const ERRORS_MAX = 32;

/** Errors that say: this value is of another kind altogether. */
const OTHER_KIND: ReadonlySet<ValueErrorType> = new Set([
  ValueErrorType.Array,
  ValueErrorType.Boolean,
  ValueErrorType.Integer,
  ValueErrorType.Literal,
  ValueErrorType.Null,
  ValueErrorType.Number,
  ValueErrorType.Object,
  ValueErrorType.String,
  ValueErrorType.Union,
]);

/** Of the variants of a union, the error of the one that the value was meant to be, and in it the deepest field. */
export function mostTelling(error: ValueError): ValueError {
  if (error.type !== ValueErrorType.Union) return error;
  let deepest: ValueError | null = null;
  for (const variant of error.errors) {
    const first = firstUnlessOtherKind(variant, error.path);
    if (first && (deepest === null || depth(first.path) > depth(deepest.path))) deepest = first;
  }
  return deepest === null ? error : mostTelling(deepest);
}

/** The first error of a variant; null when the value is of another kind or carries another tag. */
function firstUnlessOtherKind(errors: Iterable<ValueError>, unionPath: string): ValueError | null {
  let first: ValueError | null = null;
  let read = 0;
  for (const error of errors) {
    if (error.path === unionPath) {
      const inner = mostTelling(error);
      return inner.path === unionPath && OTHER_KIND.has(inner.type) ? null : inner;
    }
    if (error.type === ValueErrorType.Literal && depth(error.path) === depth(unionPath) + 1) return null;
    first ??= error;
    if (++read === ERRORS_MAX) break;
  }
  return first;
}

const depth = (path: string): number => path.split('/').length;

/** The steps of a JSON pointer: `/messages/0` → `messages`, `0`. None for the whole. */
export function stepsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}
