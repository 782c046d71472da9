import type { FinishReason, StreamPart } from '../../contract/parts.ts';
import { type AnswerIdentity, type Receipt, servedTierIn } from '../../core/decision/answer.ts';
import { idText } from '../../core/id.ts';
import { inputOf, isObject, listOf, objectOf } from '../../core/json/object.ts';
import type { Members } from '../../core/json/original.ts';
import { DEFAULT_TIER } from '../../core/money/service-tier.ts';
import { figureOf, type Usage } from '../../core/money/usage.ts';
import { googleSignature, wrappedSignature } from './signature.ts';

interface Call {
  id: string;
  name: string;
  arguments: string;
  extra: Members | null;
}

/** A part of a candidate, as the caller gets it. */
export interface CandidatePart {
  text?: string;
  thought?: true;
  functionCall?: object;
  thoughtSignature?: string;
}

interface LogprobLists {
  readonly chosenCandidates: object[];
  readonly topCandidates: object[];
}

/** The parts that one candidate keeps until its end, because Google writes it in whole: calls, signatures and the reason of the end. */
class Candidate {
  readonly calls: Call[] = [];
  readonly details: Members[] = [];
  extra: Members | null = null;
  finish: Extract<StreamPart, { type: 'finish' }> | null = null;
  isRefusal = false;
}

const FINISH: Readonly<Record<FinishReason, string>> = {
  stop: 'STOP',
  tool_calls: 'STOP',
  length: 'MAX_TOKENS',
  content_filter: 'SAFETY',
};
/** Google's own reasons for withheld content. */
const WITHHELD: ReadonlySet<string> = new Set([
  ...['SAFETY', 'RECITATION', 'LANGUAGE', 'OTHER', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII', 'IMAGE_SAFETY'],
]);

/** Reads the parts of an answer into the parts of candidates. */
export class Candidates {
  readonly #showsThoughts: boolean;
  readonly #candidates: Candidate[] = [];

  /** @param showsThoughts whether the caller wants to see the thoughts */
  constructor(showsThoughts: boolean) {
    this.#showsThoughts = showsThoughts;
  }

  /** The number of candidates, at least one. */
  get count(): number {
    return Math.max(1, this.#candidates.length);
  }

  /** Returns the part of a candidate that can be sent at once; null if the part shows nothing yet. */
  take(part: StreamPart): CandidatePart | null {
    switch (part.type) {
      case 'text':
        this.#at(part.choice);
        return { text: part.text };
      case 'refusal':
        this.#at(part.choice).isRefusal = true;
        return { text: part.text };
      case 'reasoning':
        this.#at(part.choice);
        return this.#showsThoughts ? { text: part.text, thought: true } : null;
      case 'tool-call':
        addCall(this.#at(part.choice), part);
        return null;
      case 'state': {
        const candidate = this.#at(part.choice);
        for (const entry of part.details ?? []) candidate.details.push(entry);
        candidate.extra = part.extra ?? candidate.extra;
        return null;
      }
      case 'finish':
        this.#at(part.choice).finish = part;
        return null;
      default:
        return null;
    }
  }

  /** Returns the last parts of a candidate: its state and its calls. */
  lastParts(index: number): CandidatePart[] {
    return endOf(this.#at(index));
  }

  finishReason(index: number): string {
    const { finish, isRefusal } = this.#at(index);
    if (finish === null) return 'STOP';
    const reason = isRefusal && finish.reason === 'stop' ? 'content_filter' : finish.reason;
    return reason === 'content_filter' && WITHHELD.has(finish.raw) ? finish.raw : FINISH[reason];
  }

  #at(index: number): Candidate {
    while (this.#candidates.length <= index) this.#candidates.push(new Candidate());
    return this.#candidates[index]!;
  }
}

function addCall({ calls }: Candidate, part: Extract<StreamPart, { type: 'tool-call' }>): void {
  const { index, id, name, arguments: text, extra } = part;
  while (calls.length <= index) calls.push({ id: `call_${calls.length}`, name: '', arguments: '', extra: null });
  const call = calls[index]!;
  if (id) call.id = id;
  if (name) call.name = name;
  call.arguments += text;
  call.extra = extra ?? call.extra;
}

/**
 * Returns the state and the calls of a candidate. Clients drop thoughts and send calls back unchanged, so state that is not Google's own
 * goes with the first call.
 */
function endOf({ calls, details, extra }: Candidate): CandidatePart[] {
  const ofCalls = new Map<string, Members>();
  const written = calls.map(({ id, name, arguments: text, extra: own }): CandidatePart => {
    const signature = own && googleSignature(own);
    if (own && signature === null) ofCalls.set(id, own);
    return { functionCall: { id, name, args: inputOf(text) }, ...(signature && { thoughtSignature: signature }) };
  });
  const ofText = extra && googleSignature(extra);
  const parts: CandidatePart[] = ofText ? [{ text: '', thoughtSignature: ofText }] : [];
  const state = {
    ...(details.length > 0 && { details }),
    ...(extra && !ofText && { extra }),
    ...(ofCalls.size > 0 && { calls: Object.fromEntries(ofCalls) }),
  };
  if (Object.keys(state).length > 0) {
    const signature = wrappedSignature(state);
    const unsigned = written.find(({ thoughtSignature }) => thoughtSignature === undefined);
    if (unsigned) unsigned.thoughtSignature = signature;
    else parts.push({ text: '', thoughtSignature: signature });
  }
  return [...parts, ...written];
}

/** Adds token probabilities to the lists of a candidate. */
export function addLogprobs(part: Extract<StreamPart, { type: 'logprobs' }>, lists: LogprobLists): void {
  for (const one of part.content) {
    const { top_logprobs: top } = objectOf(one);
    lists.chosenCandidates.push(logprobOf(one));
    lists.topCandidates.push({ candidates: listOf(top).map(logprobOf) });
  }
}

export const noLogprobs = (): LogprobLists => ({ chosenCandidates: [], topCandidates: [] });
export type { LogprobLists };

function logprobOf(one: unknown): object {
  const { token, logprob } = isObject(one) ? one : {};
  return { token, logProbability: logprob };
}

/** The members that every response of an answer has. */
export const responseHead = ({ model, decision }: AnswerIdentity) => ({
  modelVersion: model,
  responseId: idText('resp_', decision),
});

/** Returns the usage in Google's form, in which the candidates' tokens exclude thoughts. */
function usageMetadata(usage: Usage, estimated: boolean): object {
  const { inputTokens, outputTokens, reasoningTokens: thoughts } = usage;
  const cached = figureOf(usage, 'cache_read');
  return {
    promptTokenCount: inputTokens,
    ...(!estimated && cached > 0 && { cachedContentTokenCount: cached }),
    candidatesTokenCount: outputTokens - thoughts,
    ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
    totalTokenCount: inputTokens + outputTokens,
  };
}

/** Returns the members of the end of an answer. */
export const receiptMembers = ({ usage, platform }: Receipt) => ({
  usageMetadata: { ...usageMetadata(usage, platform.estimated), serviceTier: tierName(servedTierIn(platform)) },
  platform,
});

const tierName = (tier: string | undefined): string | undefined => (tier === DEFAULT_TIER ? 'standard' : tier);
