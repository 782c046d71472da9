/** A reading takes about as much memory as a text of this many characters. */
const READING_CHARS = 4_096;
/** The memory does not keep a text that is longer than this. */
const TEXT_CHARS_MAX = 65_536;

/** The number of hashes kept of texts that occurred once: one for each value of the highest 12 bits. */
const SEEN = 4_096;
const SLOT_SHIFT = 20;

/** A text that occurred again, with its reading. */
interface RememberedText<Reading> {
  readonly text: string;
  readonly reading: Reading;
}

/** The map has readings by the hash of their text, or by the text itself if another text has the same hash. */
type RememberedTexts<Reading> = Map<number | string, RememberedText<Reading>>;

/**
 * Caches the results of reading texts that occur again. An application sends the same few system prompts, and an agent sends the same
 * question with every tool result.
 *
 * The memory caches a text when it occurs the second time: most texts occur once, and keeping their results would cost more garbage
 * collection than reading twice. The memory has two generations of texts. A text that occurs again moves to the young generation; when the
 * young generation is full, the old generation is dropped.
 *
 * The memory finds texts by a hash of their ends, because a map keyed by texts would hash every text as a whole. If two texts have the same
 * ends and length, such as a template with a customer's name in its middle, the memory finds the second text by the whole text.
 */
export class TextMemory<Reading> {
  readonly #charsMax: number;
  #young: RememberedTexts<Reading> = new Map();
  #old: RememberedTexts<Reading> = new Map();
  #chars = 0;
  /** For each slot, the hash of the last text in the slot. */
  readonly #seen = new Int32Array(SEEN);

  /** @param charsMax UTF-16 code units of all texts of one generation, including their results */
  constructor(charsMax: number) {
    this.#charsMax = charsMax;
  }

  /** The number of cached texts. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** Returns the reading of a text. @param read reads the text if it is not cached; its result must depend on the text alone */
  of(text: string, read: (text: string) => Reading): Reading {
    if (text.length > TEXT_CHARS_MAX) return read(text);
    const hash = hashOf(text);
    const young = find(this.#young, hash, text);
    if (young !== undefined) return young.reading;
    const old = find(this.#old, hash, text);
    if (old !== undefined) {
      this.#add(hash, old);
      return old.reading;
    }
    const reading = read(text);
    if (this.#cameBefore(hash)) this.#add(hash, { text, reading });
    return reading;
  }

  /** Forgets all texts. Only a fit needs this, because it changes the figures that readings depend on. */
  forget(): void {
    this.#young = new Map();
    this.#old = new Map();
    this.#chars = 0;
    this.#seen.fill(0);
  }

  #cameBefore(hash: number): boolean {
    // The lowest bits depend on few characters of the text.
    const slot = hash >>> SLOT_SHIFT;
    if (this.#seen[slot] === hash) return true;
    this.#seen[slot] = hash;
    return false;
  }

  #add(hash: number, one: RememberedText<Reading>): void {
    const chars = one.text.length + READING_CHARS;
    this.#chars += chars;
    if (this.#chars > this.#charsMax) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#chars = chars;
    }
    this.#young.set(this.#young.has(hash) ? one.text : hash, one);
  }
}

function find<Reading>(
  texts: RememberedTexts<Reading>,
  hash: number,
  text: string,
): RememberedText<Reading> | undefined {
  const first = texts.get(hash);
  return first === undefined || first.text === text ? first : texts.get(text);
}

/**
 * The number of UTF-16 code units that are hashed at each end of a text. If two texts have the same hash, the second text is cached at its
 * first occurrence.
 */
const EDGE = 64;

/** Returns a 32-bit hash of a text's length and ends, calculated in steps of FNV-1a, four code units per step. */
function hashOf(text: string): number {
  const { length } = text;
  const head = Math.min(EDGE, length & ~3);
  let hash = hashOn(length, text, 0, head);
  hash = hashOn(hash, text, Math.max(head, (length & ~3) - EDGE), length & ~3);
  for (let at = length & ~3; at < length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), PRIME);
  return hash;
}
const PRIME = 0x01000193;

/** @param to an end whose distance from `from` is a multiple of four code units */
function hashOn(hash: number, text: string, from: number, to: number): number {
  let on = hash;
  for (let at = from; at < to; at += 4) {
    const first = text.charCodeAt(at) | (text.charCodeAt(at + 1) << 8);
    on = Math.imul(on ^ first ^ (text.charCodeAt(at + 2) << 16) ^ (text.charCodeAt(at + 3) << 24), PRIME);
  }
  return on;
}
