import type { UnreadOutput } from 'signalbox/plugin';
import { isObject } from './json.ts';

/** Members that belong to the form of an event and not to the model's output. */
const FRAME = /^(?:type|status|role|phase|object|model|obfuscation|logprobs|(?:\w+_)?id)$/;
/** Members whose texts are base64: signatures, encrypted reasoning, files, images. */
const STATE = /^(?:data|result|encrypted_\w+)$|signature$|Signature$|b64/;
const BASE64 = /^[\w+/-]*={0,2}$/;
/** Members with the arguments of a call, as an object or as JSON text. */
const ARGUMENTS: ReadonlySet<string> = new Set(['input', 'arguments', 'action']);

/** Collects the output in values of a dialect. */
export class OutputFound {
  readonly #known: string;
  #texts: string[] = [];
  /** The number of characters of the texts that were found. */
  chars = 0;
  /** The number of characters of the state that was found. */
  stateChars = 0;

  /** @param known a text that another part contains; it does not count again where it is repeated */
  constructor(known = '') {
    this.#known = known;
  }

  /**
   * Adds the texts in a value, starting with the least nested members, because streams send those in pieces.
   * @param skipped members of the object itself that are left out
   */
  add(value: unknown, skipped?: ReadonlySet<string>): this {
    const waiting: unknown[] = [value];
    for (const one of waiting) {
      if (typeof one === 'string') this.#member('', one, waiting);
      else if (Array.isArray(one)) for (const each of one) this.#member('', each, waiting);
      else if (isObject(one)) {
        for (const name in one) if (one !== value || !skipped?.has(name)) this.#member(name, one[name], waiting);
      }
    }
    return this;
  }

  #member(name: string, value: unknown, waiting: unknown[]): void {
    if (typeof value === 'string') {
      if (value === '' || FRAME.test(name)) return;
      if (STATE.test(name) && BASE64.test(value)) this.stateChars += value.length;
      else this.#text(value);
    } else if (typeof value !== 'object' || value === null || FRAME.test(name)) return;
    else if (ARGUMENTS.has(name) && hasMembers(value)) this.#text(JSON.stringify(value));
    else waiting.push(value);
  }

  #text(text: string): void {
    if (text === this.#known) return;
    this.#texts.push(text);
    this.chars += text.length;
  }

  /** The texts that were found. */
  get texts(): readonly string[] {
    return this.#texts;
  }

  /**
   * Returns the output found; undefined for none.
   * @param chars the maximum number of characters, counted from the end of its texts
   * @param isKnown whether a text was returned before; a text before these characters that is not known is also returned
   */
  last(
    chars = this.chars,
    stateChars = this.stateChars,
    isKnown: (text: string) => boolean = () => true,
  ): UnreadOutput | undefined {
    const texts: string[] = [];
    let left = this.chars - chars;
    for (const text of this.#texts) {
      if (left <= 0 || !isKnown(text)) texts.push(text);
      else if (text.length > left) texts.push(text.slice(left));
      left -= text.length;
    }
    return texts.length === 0 && stateChars === 0 ? undefined : { texts, stateChars };
  }
}

const hasMembers = (value: object): boolean => {
  for (const _ in value) return true;
  return false;
};

/** Returns whether one of the parts contains text or a piece of a call. */
export function areShown(parts: readonly { readonly type: string }[]): boolean {
  for (const { type } of parts) if (SHOWN.has(type)) return true;
  return false;
}
const SHOWN: ReadonlySet<string> = new Set(['text', 'reasoning', 'refusal', 'tool-call']);
