import { appendFileSync } from 'node:fs';

/** How much work a test does: little in `npm test`, with a fixed seed; much in `npm run test:deep`, with a new seed each time. */
export interface Effort {
  readonly runs: number;
  readonly seed: number;
  /** Random numbers in [0, 1) that follow from the seed. */
  random(): number;
  /** A deep test calls this function when all runs have passed. The function adds a line to `test/deep/results.md`. */
  proved(what: string, table?: string): void;
  /**
   * A deep test calls `provedPart` instead of `proved` if the developer selected a part of the runs: the results page then keeps its row.
   */
  provedPart(): void;
}

/** The environment tells a section's test its effort, and the file for its result. */
const { SIGNALBOX_DEEP, SIGNALBOX_SEED, SIGNALBOX_RUNS, SIGNALBOX_PROOF } = process.env;

/** True in `npm run test:deep`. */
export const isDeep = SIGNALBOX_DEEP === '1';

/** Prints the seed, so that you can repeat a failure: `SIGNALBOX_SEED=… bun test <file>`. */
export function effort(section: string, few: number, many: number): Effort {
  const found = effortOf(section, seedOf(section), few, many);
  console.log(`${section}: ${found.runs} runs, seed ${found.seed}`);
  return found;
}

/** Returns a seed: in `npm test` always the same for a name, in `npm run test:deep` a new one; `SIGNALBOX_SEED` if it is set. */
export function seedOf(name: string): number {
  if (SIGNALBOX_SEED !== undefined) return Number(SIGNALBOX_SEED);
  return (isDeep ? crypto.getRandomValues(new Uint32Array(1))[0]! : Bun.hash.crc32(name)) % 1_000_000;
}

function effortOf(section: string, seed: number, few: number, many: number): Effort {
  const runs = Number(SIGNALBOX_RUNS ?? (isDeep ? many : few));
  return {
    runs,
    seed,
    random: randomFrom(seed),
    proved(what, table) {
      if (SIGNALBOX_PROOF) appendFileSync(SIGNALBOX_PROOF, `${JSON.stringify({ section, what, runs, seed, table })}\n`);
    },
    provedPart() {
      if (SIGNALBOX_PROOF) appendFileSync(SIGNALBOX_PROOF, '');
    },
  };
}

/**
 * The number of cases with which fast-check tests a law: `few` in `npm test`, `many` in `npm run test:deep -- laws`. A failure prints the
 * seed. A law that fails has no row in `test/deep/results.md`.
 */
export function tries(law: string, few: number, many: number): { readonly numRuns: number; readonly seed: number } {
  const { runs, seed, proved } = effortOf('laws', seedOf(law), few, many);
  proved(law);
  return { numRuns: runs, seed };
}

/** `npm test` takes every fifth mutant of a law, or every fifth of other similar cases. This shows that the law can fail. */
export const someOf = <T>(all: readonly T[]): readonly T[] => all.filter((_, at) => isDeep || at % 5 === 0);

/** Mulberry32, a small generator with the same numbers on every machine. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
