import type { FinishReason, MessagePart, StreamPart } from '../../contract/parts.ts';
import { TextRun } from '../../contract/text-run.ts';
import { errorBody } from '../../core/api/error.ts';
import { type AnswerIdentity, type Receipt, servedTierIn } from '../../core/decision/answer.ts';
import type { SignalboxError } from '../../core/errors.ts';
import { NO_ARGUMENTS } from '../no-arguments.ts';
import { serverSentEvents } from '../server-sent-events.ts';
import type { EventForm, EventWriter } from '../surface.ts';
import { completionId, logprobsBody, usageBody } from './completion.ts';

/** The last event of a complete answer. */
const DONE = 'data: [DONE]\n\n';

type ToolCall = Extract<StreamPart, { type: 'tool-call' }>;

/**
 * Converts parts to server-sent events, as text. Finish reasons wait for the receipt, because the last chunk with a finish reason contains
 * `platform`.
 */
export class ChunkWriter implements EventWriter {
  readonly takesRuns = true;
  /** The text of a chunk up to its choices, which is the same for the whole stream. */
  readonly #head: string;
  readonly #includeUsage: boolean;
  /** For each choice that has begun, the text of its chunks up to the members of the delta. */
  readonly #starts: string[] = [];
  /** Whether each choice has content or calls. A choice without content or calls ends with an empty content, as in JSON. */
  readonly #filled: boolean[] = [];
  readonly #finished = new Map<number, FinishReason>();
  /** The tool calls that have no arguments so far. */
  readonly #bare = new Map<string, ToolCall>();

  constructor({ decision, created, model }: AnswerIdentity, includeUsage = false) {
    this.#includeUsage = includeUsage;
    const head = JSON.stringify({ id: completionId(decision), object: 'chat.completion.chunk', created, model });
    this.#head = `data: ${head.slice(0, -1)},"choices":[`;
  }

  /** Returns the events of one batch of parts; '' if the batch contains nothing to show. */
  write(parts: readonly StreamPart[]): string {
    let out = '';
    for (let at = 0; at < parts.length; at++) {
      const part = parts[at]!;
      switch (part.type) {
        case 'finish':
          this.#finished.set(part.choice, part.reason);
          break;
        case 'logprobs':
          out += this.#delta(part.choice, '', logprobsMember(part));
          break;
        case 'text':
        case 'reasoning':
        case 'refusal':
        case 'tool-call':
        case 'state': {
          // Token probabilities go into the chunk of their tokens if the upstream sent both at the same time.
          const next = parts[at + 1];
          const its = next?.type === 'logprobs' && next.choice === part.choice ? next : null;
          if (part instanceof TextRun) {
            this.#filled[part.choice] = true;
            if (its) return out + this.write([...part.parts(), ...parts.slice(at + 1)]);
            out += this.#run(part);
            break;
          }
          if (its) at++;
          if (part.type === 'tool-call') this.#note(part);
          if (part.type !== 'reasoning' && part.type !== 'state') this.#filled[part.choice] = true;
          out += this.#delta(part.choice, memberOf(part), its ? logprobsMember(its) : '');
        }
      }
    }
    return out;
  }

  /** Returns the end of a successful stream: the finish chunks with the platform on the last one, the usage if requested, and `[DONE]`. */
  end(receipt: Receipt): string {
    let out = '';
    for (const { choice, index } of this.#bare.values()) {
      if (this.#finished.get(choice) === 'length') continue;
      out += this.#delta(choice, memberOf({ type: 'tool-call', choice, index, arguments: NO_ARGUMENTS }));
    }
    const last = [...this.#finished.keys()].at(-1);
    const tier = servedTierIn(receipt.platform);
    const ofTier = tier === undefined ? '' : `,"service_tier":${JSON.stringify(tier)}`;
    for (const [choice, reason] of this.#finished) {
      if (!this.#filled[choice]) out += this.#delta(choice, '"content":""');
      const platform = choice === last ? `,"platform":${JSON.stringify(receipt.platform)}` : '';
      out += `${this.#head}{"index":${choice},"delta":{},"finish_reason":"${reason}"}]${ofTier}${platform}}\n\n`;
    }
    if (this.#includeUsage) {
      out += `${this.#head}],"usage":${JSON.stringify(usageBody(receipt.usage, receipt.platform.estimated))}${ofTier}}\n\n`;
    }
    return out + DONE;
  }

  /** Returns the end of a failed stream, which has no `[DONE]`. */
  error(error: SignalboxError, platform: Receipt['platform'] | null): string {
    return `data: ${JSON.stringify({ ...errorBody(error), ...(platform && { platform }) })}\n\n`;
  }

  #note(call: ToolCall): void {
    if (call.arguments === '' && call.id === undefined) return;
    const key = `${call.choice} ${call.index}`;
    if (call.arguments === '') this.#bare.set(key, call);
    else if (this.#bare.size > 0) this.#bare.delete(key);
  }

  /** Returns the chunks of a run, whose texts are copied as they came. */
  #run(run: TextRun): string {
    const first = this.#starts[run.choice] === undefined ? this.#delta(run.choice, '') : '';
    const before = `${this.#starts[run.choice]}"content":"`;
    const after = '"}}]}\n\n';
    return `${first}${before}${run.encodedWith(after + before)}${after}`;
  }

  #delta(choice: number, member: string, after = ''): string {
    const start = this.#starts[choice];
    if (start !== undefined) return `${start}${member}}${after}}]}\n\n`;
    const first = `${this.#head}{"index":${choice},"delta":{`;
    this.#starts[choice] = first;
    return `${first}"role":"assistant"${member && `,${member}`}}${after}}]}\n\n`;
  }
}

const chunksBy = (writer: EventForm['writer']): EventForm => ({ ...serverSentEvents(writer), hasNoFailedEnd: true });

export const CHUNKS = chunksBy((identity) => new ChunkWriter(identity));
/** A stream of chunks whose last chunk contains the usage. */
export const CHUNKS_WITH_USAGE = chunksBy((identity) => new ChunkWriter(identity, true));

/** Returns the members that a part adds to a chunk's `delta`. */
function memberOf(part: MessagePart): string {
  switch (part.type) {
    case 'text':
      return `"content":${JSON.stringify(part.text)}`;
    case 'reasoning':
      return `"reasoning_content":${JSON.stringify(part.text)}`;
    case 'refusal':
      return `"refusal":${JSON.stringify(part.text)}`;
    case 'tool-call':
      return `"tool_calls":[${JSON.stringify(toolCallDelta(part))}]`;
    case 'state':
      return stateMembers(part);
  }
}

function stateMembers({ details, extra }: Extract<StreamPart, { type: 'state' }>): string {
  const members = { ...(details && { reasoning_details: details }), ...(extra && { extra_content: extra }) };
  return JSON.stringify(members).slice(1, -1);
}

function logprobsMember({ content, refusal }: Extract<StreamPart, { type: 'logprobs' }>): string {
  return `,"logprobs":${JSON.stringify(logprobsBody({ content, refusal }))}`;
}

function toolCallDelta(part: ToolCall): object {
  const { index, id, name } = part;
  const first = id !== undefined || name !== undefined;
  return {
    index,
    ...(id !== undefined && { id }),
    ...(first && { type: 'function' }),
    function: { ...(name !== undefined && { name }), arguments: part.arguments },
    ...(part.extra && { extra_content: part.extra }),
  };
}
