import type { StreamPart } from '../../contract/parts.ts';
import { type Awaitable, whenReady } from '../../core/awaitable.ts';
import type { RunningGuard } from './guard-runtime.ts';
import { GuardedParts, type OutputContext, readsWhole } from './guarded-parts.ts';

/**
 * Runs guards on an answer, in the order of the list: a guard sees the answer as the guards before it left it, in a stream and in a whole
 * answer alike. Guards that flag see the answer as the model wrote it.
 */
export class GuardChain {
  readonly #stages: readonly GuardedParts[];

  constructor(guards: readonly RunningGuard[], isStream: boolean, context: OutputContext) {
    this.#stages = stagesOf(guards).map((stage) => new GuardedParts(stage, isStream, context));
  }

  /** Adds a batch of parts. Returns the parts that may be shown now. Call it again only once it has returned them. */
  add(parts: readonly StreamPart[]): Awaitable<readonly StreamPart[]> {
    return this.#passed(parts, false, 0);
  }

  /** Ends all texts. Returns the rest of the parts. */
  end(): Awaitable<readonly StreamPart[]> {
    return this.#passed([], true, 0);
  }

  /** Ends everything that is in progress, because no reader waits for it. */
  leave(): void {
    for (const stage of this.#stages) stage.leave();
  }

  #passed(parts: readonly StreamPart[], isEnd: boolean, at: number): Awaitable<readonly StreamPart[]> {
    const stage = this.#stages[at];
    if (!stage || (parts.length === 0 && !isEnd)) return parts;
    const added = parts.length === 0 ? parts : stage.add(parts);
    const shown = isEnd ? whenReady(added, (first) => whenReady(stage.end(), (rest) => [...first, ...rest])) : added;
    return whenReady(shown, (next) => this.#passed(next, isEnd, at + 1));
  }
}

/** Divides guards into stages, each of which sees the answer as the stage before left it. A guard that only blocks changes nothing. */
function stagesOf(guards: readonly RunningGuard[]): readonly (readonly RunningGuard[])[] {
  const [flagging, acting] = [
    guards.filter(({ rule }) => rule.onMatch === 'flag'),
    guards.filter(({ rule }) => rule.onMatch !== 'flag'),
  ];
  const stages: RunningGuard[][] = [[]];
  for (const guard of acting) {
    stages.at(-1)!.push(guard);
    if (guard.rule.onMatch === 'mask' || guard.rule.window === 'form') stages.push([]);
  }
  // A guard that needs the whole answer keeps its text, but the others do not.
  const counting = Object.values(Object.groupBy(flagging, (guard) => (readsWhole(guard) ? 'whole' : 'window')));
  return [...counting, ...stages].filter((stage) => stage.length > 0);
}
