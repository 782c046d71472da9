import { objectOf, textOf } from './json/object.ts';

/** Returns the message of any thrown value. */
export const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

/** Returns the code of a system or SQLite error; '' for none. */
export const codeOf = (thrown: unknown): string => textOf(objectOf(thrown).code);

/** Returns the result of a function, or `otherwise` if the function throws. */
export function orElse<T, Else>(run: () => T, otherwise: Else): T | Else {
  try {
    return run();
  } catch {
    return otherwise;
  }
}
