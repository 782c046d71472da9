import type { StreamPart } from '../../../src/contract/parts.ts';
import type { AnswerIdentity, Receipt } from '../../../src/core/decision/answer.ts';
import type { SignalboxError } from '../../../src/core/errors.ts';
import type { AnswerWriter, EventForm, EventWriter } from '../../../src/dialects/surface.ts';

const NS_PER_MS = 1_000_000;

interface Call {
  name: string;
  arguments: string;
}

/** The message of an answer, or its next piece in a stream. */
interface OllamaMessage {
  readonly role: 'assistant';
  readonly content: string;
  readonly thinking?: string;
  readonly tool_calls?: readonly { readonly function: { readonly name: string; readonly arguments: unknown } }[];
}

/**
 * Collects the parts for both forms. Calls are collected because their arguments are one object. An answer in this dialect has a single
 * choice.
 */
class Gathering {
  readonly #head: { readonly model: string; readonly created_at: string };
  #calls: Call[] = [];
  #reason = 'stop';

  constructor({ model, created }: AnswerIdentity) {
    this.#head = { model, created_at: new Date(created * 1_000).toISOString() };
  }

  /** Returns the message that a part completes; null for none. */
  take(part: StreamPart): OllamaMessage | null {
    if (part.type === 'usage' || part.type === 'failure' || part.choice !== 0) return null;
    switch (part.type) {
      case 'text':
      case 'refusal':
        return { role: 'assistant', content: part.text };
      case 'reasoning':
        return { role: 'assistant', content: '', thinking: part.text };
      case 'tool-call': {
        while (this.#calls.length <= part.index) this.#calls.push({ name: '', arguments: '' });
        const call = this.#calls[part.index]!;
        call.name ||= part.name ?? '';
        call.arguments += part.arguments;
        return null;
      }
      case 'finish': {
        this.#reason = part.reason === 'length' ? 'length' : 'stop';
        if (this.#calls.length === 0) return null;
        return { role: 'assistant', content: '', tool_calls: this.#calls.map(toolCall) };
      }
      default:
        return null;
    }
  }

  piece(message: OllamaMessage): object {
    return { ...this.#head, message, done: false };
  }

  whole(message: OllamaMessage, { usage, platform }: Receipt): object {
    const ms = platform.attempts.reduce((sum, attempt) => sum + attempt.ms, 0);
    return {
      ...this.#head,
      message,
      done: true,
      done_reason: this.#reason,
      total_duration: ms * NS_PER_MS,
      prompt_eval_count: usage.inputTokens,
      eval_count: usage.outputTokens,
      platform,
    };
  }
}

function toolCall({ name, arguments: text }: Call): NonNullable<OllamaMessage['tool_calls']>[number] {
  return { function: { name, arguments: objectOf(text) } };
}

/** Arguments that were cut off are not JSON. */
function objectOf(text: string): unknown {
  try {
    return JSON.parse(text || '{}');
  } catch {
    return {};
  }
}

/** Writes an answer as a single JSON body. */
export class OllamaWriter implements AnswerWriter {
  readonly #gathering: Gathering;
  #message: OllamaMessage = { role: 'assistant', content: '' };

  constructor(identity: AnswerIdentity) {
    this.#gathering = new Gathering(identity);
  }

  write(parts: readonly StreamPart[]): string {
    for (const part of parts) {
      const next = this.#gathering.take(part);
      if (!next) continue;
      const { content, thinking } = this.#message;
      this.#message = {
        ...this.#message,
        ...next,
        content: content + next.content,
        ...(next.thinking && { thinking: (thinking ?? '') + next.thinking }),
      };
    }
    return '';
  }

  end(receipt: Receipt): string {
    return JSON.stringify(this.#gathering.whole(this.#message, receipt));
  }
}

/** Writes an answer as one JSON object per line. */
export class OllamaLines implements EventWriter {
  readonly #gathering: Gathering;

  constructor(identity: AnswerIdentity) {
    this.#gathering = new Gathering(identity);
  }

  write(parts: readonly StreamPart[]): string {
    let out = '';
    for (const part of parts) {
      const message = this.#gathering.take(part);
      if (message) out += line(this.#gathering.piece(message));
    }
    return out;
  }

  end(receipt: Receipt): string {
    return line(this.#gathering.whole({ role: 'assistant', content: '' }, receipt));
  }

  error(error: SignalboxError): string {
    return line({ error: error.message });
  }
}

const line = (value: object): string => `${JSON.stringify(value)}\n`;

/** Clients skip white space before a line's JSON, but fail on an empty line. */
export const LINES: EventForm = {
  contentType: 'application/x-ndjson',
  heartbeat: ' ',
  writer: (identity) => new OllamaLines(identity),
};
