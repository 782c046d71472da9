import { orElse, whenReady } from '../../core/awaitable.ts';
import { isConversation } from '../../core/kinds/operations.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import type { Timers } from '../../core/time/timers.ts';
import type { WorkTurns } from '../../host/turns.ts';
import type { AnswerJudge } from '../exchange/runnable-request.ts';
import { GuardChain } from './guard-chain.ts';
import { AnswerBlocked } from './held-parts.ts';
import { Placeholders } from './placeholders.ts';
import type { RequestGuards } from './request-guards.ts';
import { Verdicts } from './verdicts.ts';

/** The parts that a judge needs to run guards. */
interface JudgeParts {
  readonly timers: Timers;
  readonly turns: WorkTurns;
}

/** Returns what judges the answer of a request; null if no guard wants the model to be asked again. */
export const answerJudge = (
  guards: RequestGuards | null,
  request: ModelRequest,
  parts: JudgeParts,
): AnswerJudge | null => (guards === null ? null : judgeOf(guards, request, parts));

function judgeOf({ output }: RequestGuards, request: ModelRequest, { timers, turns }: JudgeParts): AnswerJudge | null {
  const judging = output.filter(({ rule, prepared }) => prepared.asksAgain && rule.isPure && rule.onMatch !== 'flag');
  if (judging.length === 0 || !isConversation(request.operation)) return null;
  return (parts) => {
    const context = {
      request,
      verdicts: new Verdicts(),
      placeholders: new Placeholders(() => NO_SECRET),
      clock: () => performance.now(),
      timers,
      turns,
      onFailure: () => {},
    };
    const held = new GuardChain(judging, false, context);
    const blocked = (cause: unknown): boolean => {
      if (!(cause instanceof AnswerBlocked)) throw cause;
      return cause.error.code === 'content_blocked';
    };
    try {
      return orElse(
        whenReady(held.add(parts), () => false),
        blocked,
      );
    } catch (cause) {
      return blocked(cause);
    }
  };
}

/** No placeholder of a judged answer is shown. */
const NO_SECRET = new Uint8Array(32);
