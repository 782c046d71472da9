import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
import { passthroughBit } from '../../core/request/capability.ts';
import type { Facts } from '../../core/request/facts.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import type { PromptHistory } from './affinity.ts';
import { bearsStateAt, bearsWrappedState } from './reasoning-state.ts';

/**
 * If a selector chooses the model, adds the models that can read the reasoning of the tool calls in progress. Within a turn, a model
 * continues from its reasoning, and other models would lose it.
 */
export function withLoopReaders(
  facts: Facts,
  request: ModelRequest,
  history: PromptHistory,
  snapshot: PolicySnapshot,
): Facts {
  if (facts.named !== null) return facts;
  const turn = callingTurn(request);
  return turn === null || !bearsStateAt(request, turn) ? facts : withReaders(facts, request, history, turn, snapshot);
}

/** @param turn the index of the turn with the reasoning */
function withReaders(
  facts: Facts,
  request: ModelRequest,
  history: PromptHistory,
  turn: number,
  { models }: PolicySnapshot,
): Facts {
  const family = history.writerOf(turn);
  // A provider that receives the request unchanged can read state that providers of its dialect have signed.
  const own = bearsWrappedState(request, turn) ? 0 : passthroughBit(request.original.dialect);
  const readers = models.filter(
    (model) => model.family === family || model.endpoints.some(({ capabilities }) => (capabilities & own) !== 0),
  );
  if (readers.length === 0 || readers.length === models.length) return facts;
  return { ...facts, readers: readers.map(({ id }) => id) };
}

/** Returns the index of the assistant's turn whose tool calls the end of the request answers; null if the request ends otherwise. */
function callingTurn({ conversation: { turns } }: ModelRequest): number | null {
  let at = turns.length - 1;
  /** The message that contains the user's text. The text may come after tool results in the same message. */
  let beside: unknown = null;
  for (; at >= 0 && turns[at]!.role !== 'assistant' && turns[at]!.role !== 'tool'; at--) {
    const { role, at: place } = turns[at]!;
    if (role === 'user') beside = place[1];
  }
  const result = turns[at];
  if (result?.role !== 'tool' || (beside !== null && result.at[1] !== beside)) return null;
  while (at >= 0 && turns[at]!.role === 'tool') at--;
  return turns[at]?.role === 'assistant' ? at : null;
}
