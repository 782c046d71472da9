import type { Plugin } from '../../contract/kinds.ts';
import type { ProviderPlugin } from '../../contract/provider.ts';
import { messageOf } from '../../core/thrown.ts';
import { GUARD_LAWS } from './guard.ts';
import type { ConformanceHost } from './host.ts';
import type { Law, LawReport, LawRunOptions } from './law.ts';
import { ANSWER_LAWS } from './provider-answer.ts';
import { IN_PROCESS_LAWS } from './provider-in-process.ts';
import { PREPARED_LAWS, REQUEST_LAWS } from './provider-request.ts';
import { SAMPLE_LAWS } from './provider-samples.ts';
import { type ProviderSubject, typicalAdapter } from './provider-subject.ts';
import type { Sample } from './samples.ts';
import { STRATEGY_LAWS } from './strategy.ts';
import { STRATEGY_NOTES } from './strategy-notes.ts';

/** The inputs of the suite in addition to the plugin. */
interface SuiteInputs {
  readonly host: ConformanceHost;
  /** Recorded answers of the provider; other kinds of plugins need none. */
  readonly samples: readonly Sample[];
  /** Called before each law, to report progress. */
  trying?(law: string): void;
}

/** Runs the laws for the kind of the plugin, one after the other. */
export function* examine(plugin: Plugin, inputs: SuiteInputs, effort: LawRunOptions): Generator<LawReport> {
  const { host, samples } = inputs;
  if (plugin.kind === 'strategy')
    yield* runLaws([...STRATEGY_LAWS, ...STRATEGY_NOTES], { plugin, host }, effort, inputs);
  else if (plugin.kind === 'guard') yield* runLaws(GUARD_LAWS, { plugin }, effort, inputs);
  else yield* runLaws(providerLaws(plugin), { plugin, host, samples }, effort, inputs);
}

/** An in-process adapter builds no requests and reads no answers, so other laws apply. */
function providerLaws(plugin: ProviderPlugin): readonly Law<ProviderSubject>[] {
  const isInProcess = typicalAdapter(plugin)?.kind === 'in-process';
  if (isInProcess) return [...PREPARED_LAWS, ...IN_PROCESS_LAWS];
  return [...PREPARED_LAWS, ...REQUEST_LAWS, ...ANSWER_LAWS, ...SAMPLE_LAWS];
}

function* runLaws<Subject>(
  laws: readonly Law<Subject>[],
  subject: Subject,
  effort: LawRunOptions,
  inputs: SuiteInputs,
): Generator<LawReport> {
  for (const law of laws) {
    inputs.trying?.(law.name);
    try {
      yield law.try(subject, effort);
    } catch (cause) {
      const says = 'the law could be tried';
      yield { law: law.name, says, outcome: 'broken', fault: messageOf(cause), example: null };
    }
  }
}
