import type { Frame, WireAdapter } from '../contract/provider.ts';
import type { Candidates, PreparedStrategy } from '../contract/strategy.ts';

/** What the suite has the gateway itself do, so that a plugin is tried with what it will meet. */
export interface Host {
  /** Puts the best `most` candidates into `into`, best first. Rounds `utility`, which is not used if `faulty`. */
  rank(
    candidates: Candidates,
    utility: Float64Array,
    most: number,
    into: number[],
    tieBreak?: PreparedStrategy['tieBreak'],
  ): { readonly faulty: boolean };
  /** A fresh parser from the text of a stream to frames. */
  frames(kind: WireAdapter['frames']): { push(text: string): readonly Frame[]; end(): readonly Frame[] };
  /** The headers of a call as they go out, of those that an adapter wants; with the key, if there is one. Throws where it cannot be put. */
  headers(adapter: WireAdapter, own: Readonly<Record<string, string>>, key: string | null): Headers;
}
