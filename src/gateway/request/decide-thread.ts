import { whenReady } from '../../core/awaitable.ts';
import type { Decision } from '../../core/decision/decision.ts';
import { type ErrorCode, SignalboxError } from '../../core/errors.ts';
import type { Thread } from '../../core/request/conversation.ts';
import type { Facts } from '../../core/request/facts.ts';
import { threadNotFound, unsupportedThread } from '../../core/request/thread-errors.ts';
import type { Runtime } from '../../policy/runtime/runtime.ts';
import { THREAD_NEEDS } from '../../routing/profile/size.ts';
import type { PromptHistory } from '../prompt/affinity.ts';
import { type Threads, withHistory } from '../prompt/threads.ts';

/** The decision of a request, with its history. */
export interface RequestDecision {
  readonly history: PromptHistory;
  readonly decision: Decision;
}

export type DecisionResult = RequestDecision | Promise<RequestDecision>;

/** Adds the thread of a request to its facts. */
export type FactsFit = (facts: Facts) => Facts;

/**
 * Decides a request.
 * @param fit changes the facts; called each time that they are read
 * @throws SignalboxError if no model is left, or the funds cover none
 */
export type DecideAs = (fit: FactsFit | null) => DecisionResult;

/** The thread of a request, and what is needed to continue it. */
interface ThreadPlace {
  readonly thread: Thread;
  readonly keyId: string;
  readonly runtime: Runtime;
}

/**
 * Decides a request of a thread. A request that begins a thread needs a model whose provider keeps histories. A request that continues a
 * thread must go to the provider that has its history.
 */
export function decideThread(threads: Threads, place: ThreadPlace, decideAs: DecideAs): DecisionResult {
  const { continues } = place.thread;
  return continues === null ? begin(place, decideAs) : goOn(threads, place, continues, decideAs);
}

/**
 * Begins a thread only if the provider of the chosen model keeps histories. The choice is not restricted to models with such a provider,
 * because some clients request threads by default, and fewer models would mean a worse or more expensive choice.
 */
function begin({ runtime }: ThreadPlace, decideAs: DecideAs): DecisionResult {
  const choose = ({ decision }: RequestDecision): DecisionResult => {
    const { id, endpoints } = runtime.snapshot.models[decision.ranked[0].model]!;
    const isKept = decision.ranked[0].endpoints.some((at) => (THREAD_NEEDS & ~endpoints[at]!.capabilities) === 0);
    if (!isKept) throw unsupportedThread(`The provider of \`${id}\` keeps no conversation history.`);
    return decideAs((facts) => ({ ...facts, needs: facts.needs | THREAD_NEEDS }));
  };
  const open = decideAs(null);
  return whenReady(open, choose);
}

/** Errors that mean that the worst case of a history cannot be paid: a history may fill the model's context window. */
const UNPAID: ReadonlySet<ErrorCode> = new Set([
  'budget_limit_too_low',
  'insufficient_quota',
  'request_exceeds_budget',
]);

async function goOn(
  threads: Threads,
  { keyId, runtime }: ThreadPlace,
  answerId: string,
  decideAs: DecideAs,
): Promise<RequestDecision> {
  const kept = await threads.find(keyId, answerId);
  try {
    return await decideAs((facts) => withHistory(facts, kept, runtime, (account) => threads.originOf(account)));
  } catch (cause) {
    return refuse(cause);
  }
}

/** Replaces a refusal by an error after which clients that have the whole conversation send it, if that may help. */
function refuse(cause: unknown): never {
  if (!(cause instanceof SignalboxError)) throw cause;
  if (cause.code === 'no_eligible_model')
    throw threadNotFound(`The model of this conversation cannot accept this turn. ${cause.message}`);
  if (!UNPAID.has(cause.code)) throw cause;
  throw unsupportedThread(
    `The provider keeps the history of this conversation, so a budget must cover a prompt that fills the model’s context window. ${cause.message}`,
  );
}
