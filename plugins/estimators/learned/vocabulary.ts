/** Index of a kind of words in the counts of `scan`. 0 is for other words. */
export const KIND = {
  code: 1,
  negation: 2,
  conditional: 3,
  calculation: 4,
  which: 5,
  person: 6,
  explanation: 7,
} as const;

/** Words that show how a question is asked, whatever its topic. Each word has one kind. */
const WORDS: readonly (readonly [kind: number, words: string])[] = [
  [KIND.code, 'def return function class import const print void int string array python code var let'],
  [KIND.negation, 'not no never none except without cannot nor neither least false incorrect'],
  [KIND.conditional, 'if suppose assume assuming given unless provided otherwise whether'],
  [KIND.calculation, 'calculate compute find determine evaluate solve sum total many much value estimate'],
  [KIND.which, 'which'],
  [KIND.person, 'who whom whose when where name'],
  [KIND.explanation, 'how why explain describe'],
];

const SLOTS = 512;

/** The kinds of words by hash, so that each word is hashed once and never copied. */
export class WordKindTable {
  readonly #hashes = new Int32Array(SLOTS);
  readonly #kinds = new Uint8Array(SLOTS);

  constructor(hashOf: (word: string) => number) {
    for (const [kind, words] of WORDS) for (const word of words.split(' ')) this.#add(hashOf(word), kind);
  }

  #add(hash: number, kind: number): void {
    let slot = hash & (SLOTS - 1);
    while (this.#kinds[slot] !== 0) slot = (slot + 1) & (SLOTS - 1);
    this.#hashes[slot] = hash;
    this.#kinds[slot] = kind;
  }

  kindOf(hash: number): number {
    let slot = hash & (SLOTS - 1);
    while (this.#kinds[slot] !== 0) {
      if (this.#hashes[slot] === hash) return this.#kinds[slot]!;
      slot = (slot + 1) & (SLOTS - 1);
    }
    return 0;
  }
}
