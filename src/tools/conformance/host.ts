import type { Frame, WireAdapter } from '../../contract/provider.ts';
import type { Candidates } from '../../contract/strategy.ts';

/** The parts of the gateway that the suite needs, so that it tests a plugin with the real gateway code. */
export interface ConformanceHost {
  /**
   * Ranks the best `most` candidates into `into`, best first. Rounds `utility` in place.
   * @returns `faulty` if the utilities cannot be used
   */
  rank(candidates: Candidates, utility: Float64Array, most: number, into: number[]): { readonly faulty: boolean };
  /** Creates a parser from stream text to frames. */
  frames(kind: WireAdapter['frames']): { push(text: string): readonly Frame[]; end(): readonly Frame[] };
  /**
   * Returns the headers that are sent for a call: the adapter's allowed headers, and the key.
   * @throws if the key cannot be a header
   */
  headers(adapter: WireAdapter, own: Readonly<Record<string, string>>, key: string | null): Headers;
}
