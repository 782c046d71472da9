import type { StreamPart } from '../../contract/parts.ts';
import { type Awaitable, orElse, whenReady } from '../../core/awaitable.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import type { Timers } from '../../core/time/timers.ts';
import type { WorkTurns } from '../../host/turns.ts';
import { GuardChain } from './guard-chain.ts';
import { AnswerBlocked } from './held-parts.ts';
import { Placeholders } from './placeholders.ts';
import type { RequestGuards } from './request-guards.ts';
import { Verdicts } from './verdicts.ts';

/** Whether a complete answer would be blocked, so that the model is asked once more. */
export type AnswerJudge = (parts: readonly StreamPart[]) => Awaitable<boolean>;

/** Returns what judges the answer of a request; null if no guard wants the model to be asked again. */
export function answerJudge(
  guards: RequestGuards | null,
  request: ModelRequest,
  { timers, turns }: { readonly timers: Timers; readonly turns: WorkTurns },
): AnswerJudge | null {
  const judging = guards?.output.filter(
    ({ rule, prepared }) => prepared.asksAgain && rule.isPure && rule.onMatch !== 'flag',
  );
  if (!judging?.length || request.operation !== 'chat') return null;
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
