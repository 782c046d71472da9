import { objectOf, textOf } from './object.ts';

/** The message of anything that was thrown. */
export const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

/** The code of an error of the system or of SQLite; '' for none. */
export const codeOf = (thrown: unknown): string => textOf(objectOf(thrown).code);

/** The result of a function, or something else where it throws. */
export function orElse<T, Else>(run: () => T, otherwise: Else): T | Else {
  try {
    return run();
  } catch {
    return otherwise;
  }
}
