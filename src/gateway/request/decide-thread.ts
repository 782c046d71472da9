import type { Thread } from '../../core/conversation.ts';
import type { Decision } from '../../core/decision.ts';
import { type ErrorCode, SignalboxError } from '../../core/errors.ts';
import type { Facts } from '../../core/facts.ts';
import type { Runtime } from '../../policy/runtime/runtime.ts';
import { THREAD_NEEDS } from '../../routing/profile/size.ts';
import type { PromptHistory } from '../prompt/affinity.ts';
import { notFound, type Threads, unsupportedThread, withHistory } from '../prompt/threads.ts';

/** The decision of a request, with its history and the length of its question. */
export interface RequestDecision {
  readonly history: PromptHistory;
  readonly decision: Decision;
  readonly questionLength: number | null;
}

export type DecisionResult = RequestDecision | Promise<RequestDecision>;

/** Adds the thread of a request to its facts. */
export type FactsFit = (facts: Facts) => Facts;

/**
 * Decides a request.
 * @param fit called as often as its facts are read
 * @throws SignalboxError when no model is left, or no money for it
 */
export type DecideAs = (fit: FactsFit | null) => DecisionResult;

/** The thread of a request. */
interface ThreadPlace {
  readonly thread: Thread;
  readonly keyId: string;
  readonly runtime: Runtime;
}

/**
 * Decides a request as `decideAs` does, where its thread stands: one that begins needs a model whose service keeps histories,
 * and one that goes on goes to the service that has its history.
 */
export function decideThread(threads: Threads, place: ThreadPlace, decideAs: DecideAs): DecisionResult {
  const { continues } = place.thread;
  return continues === null ? begin(place, decideAs) : goOn(threads, place, continues, decideAs);
}

/**
 * Begins a thread only where the choice is of a service that keeps it: clients ask for threads by themselves, and a choice
 * among fewer models would be worse or dearer.
 */
function begin({ runtime }: ThreadPlace, decideAs: DecideAs): DecisionResult {
  const choose = ({ decision }: RequestDecision): DecisionResult => {
    const { id, endpoints } = runtime.snapshot.models[decision.ranked[0].model]!;
    const isKept = decision.ranked[0].endpoints.some((at) => (THREAD_NEEDS & ~endpoints[at]!.capabilities) === 0);
    if (!isKept) throw unsupportedThread(`The service of \`${id}\` keeps no history of a conversation.`);
    return decideAs((facts) => ({ ...facts, needs: facts.needs | THREAD_NEEDS }));
  };
  const open = decideAs(null);
  return open instanceof Promise ? open.then(choose) : choose(open);
}

/** Errors of a history whose worst case cannot be paid: it may fill the model's window. */
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
    return await decideAs((facts) => withHistory(facts, kept, runtime));
  } catch (cause) {
    return refuse(cause);
  }
}

/** Turns the refusal of a turn into one on which clients that have the conversation send it whole, where that may help. */
function refuse(cause: unknown): never {
  if (!(cause instanceof SignalboxError)) throw cause;
  if (cause.code === 'no_eligible_model') throw notFound(`Its model cannot take this turn. ${cause.message}`);
  if (!UNPAID.has(cause.code)) throw cause;
  throw unsupportedThread(
    `A budget must cover a history that is kept elsewhere as if it filled the model’s window. ${cause.message}`,
  );
}
