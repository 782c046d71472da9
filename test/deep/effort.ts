import { appendFileSync } from 'node:fs';

/** How hard a test tries: a little in `npm test`, with a fixed seed; much in `npm run test:deep`, with a new one each time. */
export interface Effort {
  readonly runs: number;
  readonly seed: number;
  /** Random numbers in [0, 1) that follow from the seed. */
  random(): number;
  /**
   * To be called when all runs held: what was tried, in a line for `test/deep/results.md`.
   * @param table of the results, in Markdown, for a part of that page of its own
   */
  proved(what: string, table?: string): void;
  /** To be called instead if the developer chose a part of the runs: the page keeps its row. */
  provedPart(): void;
}

/** What the environment asks of a section's test, and where it wants the proof. */
const { SIGNALBOX_DEEP, SIGNALBOX_SEED, SIGNALBOX_RUNS, SIGNALBOX_PROOF } = process.env;

/** True in `npm run test:deep`. */
export const isDeep = SIGNALBOX_DEEP === '1';

/** The seed is printed, so that a failure can be had again: `SIGNALBOX_SEED=… bun test <file>`. */
export function effort(section: string, few: number, many: number): Effort {
  const found = effortOf(section, seedOf(section), few, many);
  console.log(`${section}: ${found.runs} runs, seed ${found.seed}`);
  return found;
}

/** In `npm test` always the same for a name, in `npm run test:deep` a new one; `SIGNALBOX_SEED` where it is set. */
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
 * How often fast-check tries a law: `few` times in `npm test`, `many` times in `npm run test:deep -- laws`. A failure prints the
 * seed. A law that does not hold keeps its row out of `test/deep/results.md`.
 */
export function tries(law: string, few: number, many: number): { readonly numRuns: number; readonly seed: number } {
  const { runs, seed, proved } = effortOf('laws', seedOf(law), few, many);
  proved(law);
  return { numRuns: runs, seed };
}

/** Of the mutants of a law, or other cases that are alike, `npm test` takes each fifth, which shows that the law is awake. */
export const someOf = <T>(all: readonly T[]): readonly T[] => all.filter((_, at) => isDeep || at % 5 === 0);

/** Mulberry32: small, and the same everywhere. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
