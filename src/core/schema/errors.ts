import { type ValueError, ValueErrorType } from '@sinclair/typebox/errors';

/** A member of an object schema: what a caller who sends a text should do instead. */
export const TEXT_REMEDY = Symbol('in place of a text');

/** The most errors to read of one variant of a union. A variant of a union with more errors counts as not intended. */
const ERRORS_MAX = 32;

/** Errors which mean that the value is of a different kind than the variant. */
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

/**
 * Returns the most helpful error of a check. For a union, the most helpful error is the error of the variant that the value was meant to
 * be, at its deepest field.
 */
export function mostTelling(error: ValueError): ValueError {
  if (error.type !== ValueErrorType.Union) return error;
  let deepest: ValueError | null = null;
  for (const variant of error.errors) {
    const first = firstUnlessOtherKind(variant, error.path);
    if (first && (deepest === null || depth(first.path) > depth(deepest.path))) deepest = first;
  }
  return deepest === null ? error : mostTelling(deepest);
}

/** Returns the first error of a variant; null if the value is of another kind or has another tag. */
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

/** Splits a JSON pointer into its steps: `/messages/0` → `messages`, `0`. The empty pointer has no steps. */
export function stepsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}
