import type { StreamPart } from '../../contract/parts.ts';
import type { AnswerIdentity, Receipt } from '../../core/decision/answer.ts';
import type { SignalboxError } from '../../core/errors.ts';
import { serverSentEvents } from '../server-sent-events.ts';
import type { AnswerWriter, EventForm, EventWriter } from '../surface.ts';
import {
  addLogprobs,
  type CandidatePart,
  Candidates,
  type LogprobLists,
  noLogprobs,
  receiptMembers,
  responseHead,
} from './candidates.ts';
import { errorBody } from './error.ts';

/** Writes an answer as one `GenerateContentResponse`. */
export class ResponseWriter implements AnswerWriter {
  readonly #identity: AnswerIdentity;
  readonly #candidates: Candidates;
  /** The parts of each candidate. Neighbouring texts of one kind are one part. */
  readonly #parts: CandidatePart[][] = [];
  readonly #logprobs = new Map<number, LogprobLists>();

  constructor(identity: AnswerIdentity, showsThoughts: boolean) {
    this.#identity = identity;
    this.#candidates = new Candidates(showsThoughts);
  }

  write(parts: readonly StreamPart[]): string {
    for (const part of parts) {
      if (part.type === 'logprobs') addLogprobs(part, this.#logprobs.getOrInsertComputed(part.choice, noLogprobs));
      const next = this.#candidates.take(part);
      if (next && 'choice' in part) this.#add(part.choice, next);
    }
    return '';
  }

  #add(choice: number, next: CandidatePart): void {
    while (this.#parts.length <= choice) this.#parts.push([]);
    const parts = this.#parts[choice]!;
    const last = parts.at(-1);
    if (last?.text !== undefined && last.thought === next.thought) last.text += next.text ?? '';
    else parts.push(next);
  }

  end(receipt: Receipt): string {
    const candidates = Array.from({ length: this.#candidates.count }, (_, index) => {
      const logprobsResult = this.#logprobs.get(index);
      return {
        content: { role: 'model', parts: this.#wholeParts(index) },
        finishReason: this.#candidates.finishReason(index),
        index,
        ...(logprobsResult && { logprobsResult }),
      };
    });
    return JSON.stringify({ candidates, ...responseHead(this.#identity), ...receiptMembers(receipt) });
  }

  /** A signature of a text is on the text itself. */
  #wholeParts(index: number): readonly CandidatePart[] {
    const parts = this.#parts[index] ?? [];
    const last = parts.at(-1);
    const [first, ...rest] = this.#candidates.lastParts(index);
    const whole =
      first?.text === '' && last?.text !== undefined && !last.thought
        ? [...parts.slice(0, -1), { ...last, thoughtSignature: first.thoughtSignature }, ...rest]
        : [...parts, ...(first ? [first] : []), ...rest];
    return whole.length > 0 ? whole : [{ text: '' }];
  }
}

/** Writes an answer as responses, one for each piece. The last response has the calls, the usage and `platform`. */
class Responses {
  readonly #head: object;
  readonly #candidates: Candidates;

  constructor(identity: AnswerIdentity, showsThoughts: boolean) {
    this.#head = responseHead(identity);
    this.#candidates = new Candidates(showsThoughts);
  }

  /** Returns the response with a part; null if the part shows nothing yet. */
  response(part: StreamPart): string | null {
    const next = this.#candidates.take(part);
    if (part.type === 'logprobs') {
      const logprobsResult = noLogprobs();
      addLogprobs(part, logprobsResult);
      return this.#text({ candidates: [{ ...contentOf([{ text: '' }]), index: part.choice, logprobsResult }] });
    }
    if (!next || !('choice' in part)) return null;
    return this.#text({ candidates: [{ ...contentOf([next]), index: part.choice }] });
  }

  last(receipt: Receipt): string {
    const candidates = Array.from({ length: this.#candidates.count }, (_, index) => {
      const parts = this.#candidates.lastParts(index);
      return {
        ...contentOf(parts.length > 0 ? parts : [{ text: '' }]),
        finishReason: this.#candidates.finishReason(index),
        index,
      };
    });
    return this.#text({ candidates, ...receiptMembers(receipt) });
  }

  #text(members: object): string {
    return JSON.stringify({ ...members, ...this.#head });
  }
}

const contentOf = (parts: readonly CandidatePart[]) => ({ content: { role: 'model', parts } });

const failure = (error: SignalboxError, platform: Receipt['platform'] | null): string =>
  JSON.stringify({ ...errorBody(error), ...(platform && { platform }) });

/** How a stream separates its responses. */
interface Framing {
  item(json: string): string;
  readonly end: string;
}

const EVENTS: Framing = { item: (json) => `data: ${json}\n\n`, end: '' };

/** One JSON list of responses. */
function listFraming(): Framing {
  let before = '[';
  return {
    item(json) {
      const text = before + json;
      before = ',\n';
      return text;
    },
    end: '\n]\n',
  };
}

/** Writes a stream of responses. */
class ResponseEvents implements EventWriter {
  readonly #responses: Responses;
  readonly #framing: Framing;

  constructor(identity: AnswerIdentity, showsThoughts: boolean, framing: Framing) {
    this.#responses = new Responses(identity, showsThoughts);
    this.#framing = framing;
  }

  write(parts: readonly StreamPart[]): string {
    let out = '';
    for (const part of parts) {
      const response = this.#responses.response(part);
      if (response !== null) out += this.#framing.item(response);
    }
    return out;
  }

  end(receipt: Receipt): string {
    return this.#framing.item(this.#responses.last(receipt)) + this.#framing.end;
  }

  error(error: SignalboxError, platform: Receipt['platform'] | null): string {
    return this.#framing.item(failure(error, platform)) + this.#framing.end;
  }
}

/** The forms of a stream: server-sent events with `alt=sse`, else one JSON list. Clients ignore blanks before the first response, and no comment. */
const FORMS: Readonly<Record<'sse' | 'list', (showsThoughts: boolean) => EventForm>> = {
  sse: (showsThoughts) => ({
    ...serverSentEvents((identity) => new ResponseEvents(identity, showsThoughts, EVENTS), '\n\n'),
    hasNoFailedEnd: true,
  }),
  list: (showsThoughts) => ({
    contentType: 'application/json',
    heartbeat: '\n',
    writer: (identity) => new ResponseEvents(identity, showsThoughts, listFraming()),
  }),
};

/** Returns the form of a stream. @param query of the address, without its question mark */
export const eventsFor = (query: string, showsThoughts: boolean): EventForm =>
  FORMS[new URLSearchParams(query).get('alt') === 'sse' ? 'sse' : 'list'](showsThoughts);
