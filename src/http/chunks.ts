import type { FinishReason, StreamPart } from '../contract/parts.ts';
import type { SignalboxError } from '../core/errors.ts';
import type { Platform, Receipt } from '../gateway/receipt.ts';
import { type Identity, usageBody } from './completion.ts';

/** Comment line that keeps a quiet connection open; SSE clients skip it. */
export const HEARTBEAT = ': waiting\n\n';
const DONE = 'data: [DONE]\n\n';

/**
 * Parts → server-sent events, as text. Finish reasons are held back until the receipt is there,
 * for the last chunk with one carries `platform`.
 */
export class ChunkWriter {
  /** Everything of a chunk up to its choices: the same for all of a stream. */
  readonly #head: string;
  readonly #started = new Set<number>();
  readonly #finished = new Map<number, FinishReason>();

  constructor({ id, created, model }: Identity) {
    const head = JSON.stringify({ id, object: 'chat.completion.chunk', created, model });
    this.#head = `data: ${head.slice(0, -1)},"choices":[`;
  }

  /** The events of one batch of parts; empty when it has nothing to show. */
  write(parts: readonly StreamPart[]): string {
    let out = '';
    for (const part of parts) {
      switch (part.type) {
        case 'usage':
        case 'failure':
          break;
        case 'finish':
          this.#finished.set(part.choice, part.reason);
          break;
        case 'text':
          out += this.#delta(part.choice, `"content":${JSON.stringify(part.text)}`);
          break;
        case 'reasoning':
          out += this.#delta(part.choice, `"reasoning_content":${JSON.stringify(part.text)}`);
          break;
        case 'refusal':
          out += this.#delta(part.choice, `"refusal":${JSON.stringify(part.text)}`);
          break;
        case 'tool-call':
          out += this.#delta(part.choice, `"tool_calls":[${JSON.stringify(toolCallDelta(part))}]`);
          break;
        case 'logprobs': {
          const logprobs = JSON.stringify({ content: part.content, refusal: part.refusal });
          out += this.#delta(part.choice, '', `,"logprobs":${logprobs}`);
          break;
        }
      }
    }
    return out;
  }

  /** The end of a good stream: finish chunks with the platform on the last, usage if asked, `[DONE]`. */
  end(receipt: Receipt, includeUsage: boolean): string {
    let out = '';
    const last = [...this.#finished.keys()].at(-1);
    for (const [choice, reason] of this.#finished) {
      if (!this.#started.has(choice)) out += this.#delta(choice, '"content":""');
      const platform = choice === last ? `,"platform":${JSON.stringify(receipt.platform)}` : '';
      out += `${this.#head}{"index":${choice},"delta":{},"finish_reason":"${reason}"}]${platform}}\n\n`;
    }
    if (includeUsage) {
      out += `${this.#head}],"usage":${JSON.stringify(usageBody(receipt.usage, receipt.platform.estimated))}}\n\n`;
    }
    return out + DONE;
  }

  #delta(choice: number, member: string, after = ''): string {
    let delta = member;
    if (!this.#started.has(choice)) {
      this.#started.add(choice);
      delta = member === '' ? '"role":"assistant"' : `"role":"assistant",${member}`;
    }
    return `${this.#head}{"index":${choice},"delta":{${delta}}${after}}]}\n\n`;
  }
}

/** The end of a stream that failed after its headers were out. No `[DONE]` follows. */
export function errorEvent(error: SignalboxError, platform: Platform | null): string {
  return `data: ${JSON.stringify({ ...error.toBody(), ...(platform && { platform }) })}\n\n`;
}

function toolCallDelta(part: Extract<StreamPart, { type: 'tool-call' }>): object {
  const { index, id, name } = part;
  const first = id !== undefined || name !== undefined;
  return {
    index,
    ...(id !== undefined && { id }),
    ...(first && { type: 'function' }),
    function: { ...(name !== undefined && { name }), arguments: part.arguments },
  };
}
