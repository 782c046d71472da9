import type { StreamPart } from '../../contract/parts.ts';
import type { InProcessAdapter, Pause, ProviderCall } from '../../contract/provider.ts';
import { calls, describeCall } from './calls.ts';
import { type Law, shortJson } from './law.ts';
import { orderFault, partsFault } from './parts.ts';
import { inProcessLaw, type ProviderSubject } from './provider-subject.ts';
import { repeatFault } from './sealed.ts';

/** More parts than any short answer has. */
const PARTS_MAX = 20_000;
/** The cap on output tokens of a short answer. */
const CAP = 64;

const isPause = (part: StreamPart | Pause): part is Pause => part.type === 'pause';

function answerOf(adapter: InProcessAdapter, call: ProviderCall): (StreamPart | Pause)[] {
  const parts: (StreamPart | Pause)[] = [];
  for (const part of adapter.answer({ ...call, outputCap: CAP })) {
    parts.push(part);
    if (parts.length > PARTS_MAX) throw new Error(`an answer of at most ${CAP} tokens does not end`);
  }
  return parts;
}

const answers = inProcessLaw<ProviderCall>({
  name: 'answer',
  says: 'every requested choice ends with a `finish`, nothing follows it, and the usage stays within the cap',
  cases: () => calls,
  fault(adapter, call) {
    const all = answerOf(adapter, call);
    const pause = all.find((part) => isPause(part) && !(part.ms >= 0));
    if (pause) return `the adapter asks for a pause: ${shortJson(pause)}`;
    const parts = all.filter((part): part is StreamPart => !isPause(part));
    const choices = call.request.settings.choices ?? 1;
    const finished = new Set<number>();
    const fault = partsFault(parts) ?? orderFault(parts, finished);
    if (fault) return fault;
    for (const part of parts) {
      if ('choice' in part && part.choice >= choices)
        return `the adapter answers choice ${part.choice}, although only ${choices} were requested`;
      if (part.type === 'usage' && part.usage && part.usage.outputTokens > CAP * choices)
        return `the usage is above the cap: ${shortJson(part.usage)}`;
    }
    const isFailed = parts.some(({ type }) => type === 'failure');
    return finished.size === choices || isFailed
      ? null
      : `${choices - finished.size} of ${choices} choices have no finish`;
  },
  describe: describeCall,
});

const repeats = inProcessLaw<ProviderCall>({
  name: 'deterministic',
  says: 'the same call gets the same answer, independent of clock, randomness and environment',
  cases: () => calls,
  fault(adapter, call) {
    return repeatFault(
      () => answerOf(adapter, call),
      () => 'two identical calls get different answers',
    );
  },
  describe: describeCall,
});

export const IN_PROCESS_LAWS: readonly Law<ProviderSubject>[] = [answers, repeats];
