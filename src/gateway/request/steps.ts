import { type Awaitable, whenReadyWith } from '../../core/awaitable.ts';
import type { Runtime } from '../../policy/runtime/runtime.ts';
import type { RunningAnswer } from '../exchange/answer-source.ts';
import type { PreparedRequest } from './prepared.ts';
import type { ServedRequest } from './served.ts';

/**
 * A step that prepares a request for every use of it: an answer, a quote, a recommendation, a count of tokens. A guard on requests edits
 * the request with `prepared.edit`, or refuses it.
 * @throws SignalboxError to refuse the request; a promise that rejects does the same
 */
export type PreparingStep = (prepared: PreparedRequest) => Awaitable<void>;

/** Runs the rest of the steps of a request. A step calls it at most once, unless the result has failed. */
export type Next = (served: ServedRequest) => Awaitable<RunningAnswer>;

/**
 * A step from the prepared request to its answer. It works on the request before it calls `next`, and on the answer afterwards; a guard on
 * answers wraps the answer that `next` returns. A step that does not wait stays in its turn of the event loop.
 * @throws SignalboxError to refuse the request; a promise that rejects does the same
 */
export type Step = (served: ServedRequest, next: Next) => Awaitable<RunningAnswer>;

/** Steps that are added to the steps of the pipeline under a policy, in their order. */
export interface AddedSteps {
  /** Guards on requests. They run before anything reads the text of a request. */
  readonly onRequest: readonly PreparingStep[];
  /** Guards on answers. An answer of a cache passes them, too. */
  readonly onAnswer: readonly Step[];
  /** Steps that may answer without a model, such as a cache. They run once the request is prepared, before the decision. */
  readonly beforeDecision: readonly Step[];
}

/** Returns the steps that a policy needs. It is called once for each policy. */
export type StepChoice = (policy: Runtime) => AddedSteps;

export const NO_STEPS: AddedSteps = { onRequest: [], onAnswer: [], beforeDecision: [] };

/** Makes one step of several. */
export const inOrder = (steps: readonly PreparingStep[]): PreparingStep => {
  const goOn = (prepared: PreparedRequest, at: number): Awaitable<void> => {
    const step = steps[at];
    return step && whenReadyWith(step(prepared), goOn, prepared, at + 1);
  };
  return (prepared) => goOn(prepared, 0);
};

/**
 * Composes steps into one function. While a step waited, a shutdown may have begun, the caller may have disconnected, or its terms may have
 * changed, so `next` then checks all three.
 * @param steps the last one does not call `next`
 */
export function composed([step = noStep, ...rest]: readonly Step[]): Next {
  const next = rest.length > 0 ? checkedAfterWait(composed(rest)) : noStep;
  return (served) => {
    served.hasWaited = false;
    const answer = step(served, next);
    served.hasWaited = true;
    return answer;
  };
}

/** A step has waited if it, or a step around it, has returned before it calls `next`. */
function checkedAfterWait(run: Next): Next {
  return (served) => (served.hasWaited ? whenReadyWith(served.checkAfterWait(), run, served, null) : run(served));
}

const noStep = () => {
  throw new Error('the last step has called `next`');
};
