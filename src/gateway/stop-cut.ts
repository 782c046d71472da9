import type { StreamPart } from '../contract/parts.ts';
import type { PreparedProvider } from '../contract/provider.ts';
import { CAPABILITIES, passthroughBit } from '../core/capability.ts';
import type { ModelRequest } from '../core/model-request.ts';
import { isObject } from '../core/object.ts';
import type { Endpoint } from '../core/snapshot.ts';
import { StopSearch } from '../core/stop-search.ts';

/** Returns the stops of a request that an endpoint does not take, which the gateway cuts at; null where it takes all or there are none. */
export function untakenStops(
  { settings: { stop }, original }: ModelRequest,
  { capabilities }: Pick<Endpoint, 'capabilities'>,
  adapter: PreparedProvider,
): readonly string[] | null {
  const all = typeof stop === 'string' ? [stop] : (stop ?? []);
  if (all.length === 0) return null;
  // A request that goes out as it came keeps its stops, and so does its answer.
  if (adapter.kind === 'wire' && capabilities & passthroughBit(original.dialect)) return null;
  const stops = all.filter((one) => one !== '');
  const isTaken = stops.length === all.length && capabilities & CAPABILITIES.stop.bit;
  return isTaken && adapter.takesStops?.(stops) !== false ? null : stops;
}

export const withoutStops = (request: ModelRequest): ModelRequest =>
  request.edit([{ at: [request.names.stop], value: undefined }]);

type Part<Type extends StreamPart['type']> = Extract<StreamPart, { readonly type: Type }>;

/** A choice that is read for stops. */
interface ChoiceText {
  readonly choice: number;
  readonly search: StopSearch;
  /** Text that may still become a stop. */
  held: string;
  /** Characters of text that were passed on, and those whose token probabilities were. */
  shown: number;
  logged: number;
  /** Probabilities of tokens that are not yet shown whole. */
  logprobs: unknown[];
  hasEnded: boolean;
}

/**
 * Cuts an answer at its stops, for a service that takes none: the caller sees what a service that takes them would have sent.
 * Stops stand in text alone, never in reasoning, refusals or the arguments of tools. Only text that may still become a stop waits.
 */
export class StopCut {
  readonly #stops: readonly string[];
  readonly #choices: number;
  readonly #texts = new Map<number, ChoiceText>();
  #ended = 0;
  #isCut = false;

  /** @param stops none of them empty. @param choices that the answer has */
  constructor(stops: readonly string[], choices: number) {
    this.#stops = stops;
    this.#choices = choices;
  }

  /** Whether all choices have ended, one of them by a stop: whatever the service writes from here on is for nobody. */
  get isOver(): boolean {
    return this.#isCut && this.#ended >= this.#choices;
  }

  /** Returns what the caller may see of the next parts. */
  read(parts: readonly StreamPart[]): readonly StreamPart[] {
    const seen: StreamPart[] = [];
    // A service sends the probabilities of a text behind it.
    for (const part of parts) if (part.type === 'logprobs') this.#textOf(part.choice).logprobs.push(...part.content);
    for (const part of parts) {
      if (part.type === 'usage' || part.type === 'failure') seen.push(part);
      else {
        const text = this.#textOf(part.choice);
        if (!text.hasEnded) this.#readContent(text, part, seen);
      }
    }
    return seen;
  }

  #textOf(choice: number): ChoiceText {
    let text = this.#texts.get(choice);
    if (!text) {
      const search = new StopSearch(this.#stops);
      text = { choice, search, held: '', shown: 0, logged: 0, logprobs: [], hasEnded: false };
      this.#texts.set(choice, text);
    }
    return text;
  }

  #readContent(text: ChoiceText, part: Exclude<StreamPart, { type: 'usage' | 'failure' }>, seen: StreamPart[]): void {
    if (part.type === 'text') {
      this.#readText(text, part, seen);
      return;
    }
    if (part.type === 'logprobs') {
      if (part.refusal.length > 0) seen.push({ ...part, content: [] });
      this.#log(text, seen);
      return;
    }
    // Text on both sides of a call, a thought or the end is not one text.
    if (part.type !== 'state') {
      this.#show(text, text.held.length, seen);
      text.search.restart();
    }
    if (part.type === 'finish') this.#finish(text, seen);
    seen.push(part);
  }

  #readText(text: ChoiceText, part: Part<'text'>, seen: StreamPart[]): void {
    const before = text.held.length;
    const found = text.search.find(part.text);
    text.held += part.text;
    if (!found) {
      this.#show(text, text.held.length - text.search.pending, seen);
      return;
    }
    this.#show(text, before + found.end - found.stop.length, seen);
    text.held = '';
    this.#isCut = true;
    this.#end(text);
    seen.push({ type: 'finish', choice: text.choice, reason: 'stop', raw: 'stop', stop: found.stop });
  }

  #show(text: ChoiceText, length: number, seen: StreamPart[]): void {
    if (length === 0) return;
    seen.push({ type: 'text', choice: text.choice, text: text.held.slice(0, length) });
    text.held = text.held.slice(length);
    text.shown += length;
    this.#log(text, seen);
  }

  /** Passes on the probabilities of the tokens that are shown whole. */
  #log(text: ChoiceText, seen: StreamPart[]): void {
    const content: unknown[] = [];
    for (const entry of text.logprobs) {
      const length = isObject(entry) && typeof entry.token === 'string' ? entry.token.length : 0;
      if (text.logged + length > text.shown) break;
      text.logged += length;
      content.push(entry);
    }
    if (content.length === 0) return;
    text.logprobs = text.logprobs.slice(content.length);
    seen.push({ type: 'logprobs', choice: text.choice, content, refusal: [] });
  }

  /** The service has ended the choice: tokens whose text is not that of the answer, such as halves of a character, are told now. */
  #finish(text: ChoiceText, seen: StreamPart[]): void {
    const { choice, logprobs } = text;
    if (logprobs.length > 0) seen.push({ type: 'logprobs', choice, content: logprobs, refusal: [] });
    this.#end(text);
  }

  #end(text: ChoiceText): void {
    text.hasEnded = true;
    this.#ended++;
  }
}
