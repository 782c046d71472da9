import type { EstimatorPlugin } from '../contract/estimator.ts';
import type { ProviderPlugin } from '../contract/provider.ts';
import type { StrategyPlugin } from '../contract/strategy.ts';
import { ESTIMATOR_LAWS } from './estimator.ts';
import type { Host } from './host.ts';
import { type Effort, type Law, type LawReport, messageOf } from './law.ts';
import { ANSWER_LAWS } from './provider-answer.ts';
import { IN_PROCESS_LAWS } from './provider-in-process.ts';
import { PREPARED_LAWS, REQUEST_LAWS } from './provider-request.ts';
import { SAMPLE_LAWS } from './provider-samples.ts';
import { type ProviderSubject, typicalAdapter } from './provider-subject.ts';
import type { Sample } from './samples.ts';
import { STRATEGY_LAWS } from './strategy.ts';
import { STRATEGY_NOTES } from './strategy-notes.ts';

/** What a plugin is tried with, besides itself. */
export interface Means {
  readonly host: Host;
  /** Real answers of the provider; of no use to others. */
  readonly samples: readonly Sample[];
  /** Is told which law is tried next, for whoever waits. */
  trying?(law: string): void;
}

type Plugin = StrategyPlugin | ProviderPlugin | EstimatorPlugin;

/** Tries one law after the other on a plugin. */
export function* examine(plugin: Plugin, means: Means, effort: Effort): Generator<LawReport> {
  const { host, samples } = means;
  if (plugin.kind === 'strategy') yield* tried([...STRATEGY_LAWS, ...STRATEGY_NOTES], { plugin, host }, effort, means);
  else if (plugin.kind === 'estimator') yield* tried(ESTIMATOR_LAWS, { plugin }, effort, means);
  else yield* tried(providerLaws(plugin), { plugin, host, samples }, effort, means);
}

/** An adapter that answers in this process builds no requests, and reads no answers. */
function providerLaws(plugin: ProviderPlugin): readonly Law<ProviderSubject>[] {
  const isInProcess = typicalAdapter(plugin)?.kind === 'in-process';
  if (isInProcess) return [...PREPARED_LAWS, ...IN_PROCESS_LAWS];
  return [...PREPARED_LAWS, ...REQUEST_LAWS, ...ANSWER_LAWS, ...SAMPLE_LAWS];
}

function* tried<Subject>(
  laws: readonly Law<Subject>[],
  subject: Subject,
  effort: Effort,
  means: Means,
): Generator<LawReport> {
  for (const law of laws) {
    means.trying?.(law.name);
    try {
      yield law.try(subject, effort);
    } catch (cause) {
      const says = 'the law could be tried';
      yield { law: law.name, says, outcome: 'broken', fault: messageOf(cause), example: null };
    }
  }
}
