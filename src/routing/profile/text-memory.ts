/** A reading takes about as much memory as a text of this length. */
const READING_CHARS = 4_096;
/** A longer text is not remembered. */
const TEXT_CHARS_MAX = 65_536;

/** Hashes of texts that came once: a power of two. */
const SEEN = 4_096;

/** A text that came again, with its reading. */
interface RememberedText<Reading> {
  readonly text: string;
  readonly reading: Reading;
}

/** By hash, or by the text itself where another text has its hash. */
type RememberedTexts<Reading> = Map<number | string, RememberedText<Reading>>;

/**
 * The results of reading the texts that come again. An application sends the same few system prompts, and an agent the same question
 * with every result of a tool.
 *
 * A text is remembered from its second time on: most come once, and to keep their results would cost the garbage collector more
 * than reading twice. There are two generations: a text that comes again moves to the young one; when that is full, the older is
 * forgotten. Texts are found by a hash of their ends, since a map of texts would hash every one as a whole. Only where another text has
 * the same ends and length, as with a template that names a customer in its middle, a text is found as a whole.
 */
export class TextMemory<Reading> {
  readonly #charsMax: number;
  #young: RememberedTexts<Reading> = new Map();
  #old: RememberedTexts<Reading> = new Map();
  #chars = 0;
  /** By slot, the hash of the last text there. */
  readonly #seen = new Int32Array(SEEN);

  /** @param charsMax UTF-16 code units of all texts of a generation, their results included */
  constructor(charsMax: number) {
    this.#charsMax = charsMax;
  }

  /** Number of remembered texts. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** Returns the reading of a text. @param read reads it, if it is not remembered; must depend on the text alone */
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

  #cameBefore(hash: number): boolean {
    const slot = hash & (SEEN - 1);
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

/** UTF-16 code units of each end of a text that are hashed. Two texts with one hash are remembered a time too early. */
const EDGE = 64;

/** A 32-bit hash of a text's length and ends, by the steps of FNV-1a, each of four units. */
function hashOf(text: string): number {
  const { length } = text;
  const head = Math.min(EDGE, length & ~3);
  let hash = hashOn(length, text, 0, head);
  hash = hashOn(hash, text, Math.max(head, (length & ~3) - EDGE), length & ~3);
  for (let at = length & ~3; at < length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), PRIME);
  return hash;
}
const PRIME = 0x01000193;

/** @param to a multiple of four units behind `from` */
function hashOn(hash: number, text: string, from: number, to: number): number {
  let on = hash;
  for (let at = from; at < to; at += 4) {
    const first = text.charCodeAt(at) | (text.charCodeAt(at + 1) << 8);
    on = Math.imul(on ^ first ^ (text.charCodeAt(at + 2) << 16) ^ (text.charCodeAt(at + 3) << 24), PRIME);
  }
  return on;
}
