import type { StreamPart } from '../../contract/parts.ts';
import type { PreparedProvider } from '../../contract/provider.ts';
import { isObject } from '../../core/json/object.ts';
import type { Endpoint } from '../../core/policy/snapshot.ts';
import { CAPABILITIES, passthroughBit } from '../../core/request/capability.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import { NO_STOP_BEGUN, StopSearch } from '../../core/request/stop-search.ts';
import { AnswerMark } from '../prompt/answer-mark.ts';
import type { AnswerRewrite } from './forced-call.ts';

/** A request as an endpoint may receive it, and the stop sequences at which the gateway cuts the answer; null for none. */
interface FittedStops {
  readonly request: ModelRequest;
  readonly stops: readonly string[] | null;
}

/**
 * Adapts the stop sequences of a request to an endpoint, which gets either all stop sequences or none. An empty stop sequence ends nothing,
 * so it is never sent.
 */
export function fitStops(
  request: ModelRequest,
  { capabilities }: Pick<Endpoint, 'capabilities'>,
  adapter: PreparedProvider,
): FittedStops {
  const { settings, original, names } = request;
  const all = typeof settings.stop === 'string' ? [settings.stop] : (settings.stop ?? []);
  // A request that is passed through unchanged keeps its stop sequences, so Signalbox does not cut the answer.
  const isPassed = adapter.kind === 'wire' && capabilities & passthroughBit(original.dialect);
  if (all.length === 0 || isPassed) return { request, stops: null };
  const stops = all.filter((one) => one !== '');
  const isTaken = capabilities & CAPABILITIES.stop.bit && adapter.takesStops?.(stops) !== false;
  if (isTaken && stops.length === all.length) return { request, stops: null };
  const sent = isTaken && stops.length > 0 ? stops : undefined;
  const fitted = request.edit([{ at: names.stop.split('.'), value: sent }]);
  return { request: fitted, stops: isTaken || stops.length === 0 ? null : stops };
}

type Part<Type extends StreamPart['type']> = Extract<StreamPart, { readonly type: Type }>;

/** The state of a choice in which stop sequences are searched. It is small, because an answer may have 128 choices. */
interface ChoiceText {
  readonly choice: number;
  /** The state of the search after the text so far. */
  place: number;
  /** The number of characters that were passed on. */
  shown: number;
  /** The probabilities of the choice's tokens; null before the first token. */
  log: TokenLog | null;
  hasEnded: boolean;
}

/** Probabilities of tokens that wait until their text is passed on. */
interface TokenLog {
  readonly entries: unknown[];
  /** The token probabilities that were passed on, and the characters of their tokens. */
  sent: number;
  chars: number;
}

/**
 * Cuts an answer at its stop sequences, for a provider that accepts none. The caller receives what a provider with stop sequences would
 * have sent. Stop sequences are searched only in text, never in reasoning, refusals or the arguments of tools. Only text that may become a
 * stop sequence is held back.
 */
export class StopCut implements AnswerRewrite {
  readonly #stops: readonly string[];
  readonly #choices: number;
  /** Created for the first text, and shared by all choices. */
  #search: StopSearch | null = null;
  readonly #texts: ChoiceText[] = [];
  readonly #mark = new AnswerMark();
  #ended = 0;
  #isCut = false;

  /**
   * @param stops the stop sequences, of which none is empty
   * @param choices the number of choices of the answer
   */
  constructor(stops: readonly string[], choices: number) {
    this.#stops = stops;
    this.#choices = choices;
  }

  /**
   * Whether all choices have ended and at least one ended at a stop sequence. Everything that the provider writes after that is discarded.
   */
  get isOver(): boolean {
    return this.#isCut && this.#ended >= this.#choices;
  }

  get mark(): number {
    return this.#mark.value;
  }

  read(parts: readonly StreamPart[]): readonly StreamPart[] {
    const seen: StreamPart[] = [];
    // A provider sends the probabilities of the tokens of a text after the text.
    for (const part of parts) if (part.type === 'logprobs') this.#keep(part);
    for (const part of parts) {
      if (part.type === 'usage' || part.type === 'failure') seen.push(part);
      else {
        const text = this.#textOf(part.choice);
        if (!text.hasEnded) this.#readContent(text, part, seen);
      }
    }
    for (const part of seen) this.#mark.add(part);
    return seen;
  }

  #textOf(choice: number): ChoiceText {
    this.#texts[choice] ??= { choice, place: NO_STOP_BEGUN, shown: 0, log: null, hasEnded: false };
    return this.#texts[choice];
  }

  #keep({ choice, content }: Part<'logprobs'>): void {
    const text = this.#textOf(choice);
    if (text.hasEnded) return;
    text.log ??= { entries: [], sent: 0, chars: 0 };
    for (const entry of content) text.log.entries.push(entry);
  }

  #readContent(text: ChoiceText, part: Exclude<StreamPart, { type: 'usage' | 'failure' }>, seen: StreamPart[]): void {
    if (part.type === 'text') {
      this.#readText(text, part.text, seen);
      return;
    }
    if (part.type === 'logprobs') {
      if (part.refusal.length > 0) seen.push({ ...part, content: [] });
      this.#log(text, seen);
      return;
    }
    // The text before and the text after a tool call, a thought or the end are separate texts, so a stop sequence cannot span both.
    if (part.type !== 'state' && part.type !== 'unread' && text.place !== NO_STOP_BEGUN) {
      this.#show(text, this.#searching.begun(text.place), seen);
      text.place = NO_STOP_BEGUN;
    }
    if (part.type === 'finish') this.#finish(text, seen);
    seen.push(part);
  }

  get #searching(): StopSearch {
    this.#search ??= new StopSearch(this.#stops);
    return this.#search;
  }

  #readText(text: ChoiceText, piece: string, seen: StreamPart[]): void {
    const search = this.#searching;
    const held = search.begun(text.place);
    const { place, stop, end } = search.read(text.place, piece);
    const open = held + piece;
    const length = stop === null ? open.length - search.begun(place).length : held.length + end - stop.length;
    this.#show(text, open.slice(0, length), seen);
    text.place = place;
    if (stop === null) return;
    this.#isCut = true;
    this.#end(text);
    seen.push({ type: 'finish', choice: text.choice, reason: 'stop', raw: 'stop', stop });
  }

  #show(to: ChoiceText, text: string, seen: StreamPart[]): void {
    if (text === '') return;
    seen.push({ type: 'text', choice: to.choice, text });
    to.shown += text.length;
    this.#log(to, seen);
  }

  /** Passes on the probabilities of the tokens whose whole text was passed on. */
  #log({ choice, log, shown }: ChoiceText, seen: StreamPart[]): void {
    if (log === null) return;
    const { sent } = log;
    for (; log.sent < log.entries.length; log.sent++) {
      const entry = log.entries[log.sent];
      const length = isObject(entry) && typeof entry.token === 'string' ? entry.token.length : 0;
      if (log.chars + length > shown) break;
      log.chars += length;
    }
    if (log.sent === sent) return;
    seen.push({ type: 'logprobs', choice, content: log.entries.slice(sent, log.sent), refusal: [] });
    if (2 * log.sent < log.entries.length) return;
    log.entries.splice(0, log.sent);
    log.sent = 0;
  }

  /**
   * When the provider has ended the choice, tokens whose text differs from the answer's text, such as halves of a character, are passed on
   * as well.
   */
  #finish(text: ChoiceText, seen: StreamPart[]): void {
    const { choice, log } = text;
    const content = log?.entries.slice(log.sent) ?? [];
    if (content.length > 0) seen.push({ type: 'logprobs', choice, content, refusal: [] });
    this.#end(text);
  }

  #end(text: ChoiceText): void {
    text.hasEnded = true;
    text.log = null;
    this.#ended++;
  }
}
