import type { Shape } from '../../support/in-time.ts';

/** A reader of bytes that callers or services send, with the shapes of input that could take it the longest. */
export interface WorstReader {
  readonly name: string;
  /** The shapes, by what the input has many of. */
  readonly shapes: Readonly<Record<string, Shape>>;
  /** The maximum number of parts of the smaller input, if nothing larger reaches the reader. */
  readonly partsMax?: number;
  /** How many times as expensive as usual a part is; 1 if absent. */
  readonly weight?: number;
}

/**
 * Turns inputs into shapes.
 * @param read prepares an input; it returns the function that is measured
 */
export const mapped = <Input>(
  inputs: Readonly<Record<string, (parts: number) => Input>>,
  read: (input: Input) => () => unknown,
): Readonly<Record<string, Shape>> =>
  Object.fromEntries(
    Object.entries(inputs).map(([what, make]): [string, Shape] => [what, (parts) => read(make(parts))]),
  );

/** Runs a read that may be refused. A refusal counts as a result, too. */
export function refusable(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return null;
  }
}
