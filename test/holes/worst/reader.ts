import type { Shape } from '../../support/in-time.ts';

/** A reader of bytes that callers or services send, with the shapes of input that could cost it most. */
export interface WorstReader {
  readonly name: string;
  /** By what the input has many of. */
  readonly shapes: Readonly<Record<string, Shape>>;
  /** Parts of the smaller input at most, where nothing larger gets to the reader. */
  readonly partsMax?: number;
  /** How many times as dear as elsewhere a part is; 1 if absent. */
  readonly weight?: number;
}

/** Makes shapes of inputs. @param read prepares an input; what it returns is measured */
export const mapped = <Input>(
  inputs: Readonly<Record<string, (parts: number) => Input>>,
  read: (input: Input) => () => unknown,
): Readonly<Record<string, Shape>> =>
  Object.fromEntries(
    Object.entries(inputs).map(([what, make]): [string, Shape] => [what, (parts) => read(make(parts))]),
  );

/** Reads what may be refused: a refusal is an answer, too. */
export function refusable(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return null;
  }
}
