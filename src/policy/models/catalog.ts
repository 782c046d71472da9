import type { CheckContext, NamedItem } from '../check/section-checks.ts';
import { type DraftContext, defineSection, ORDINARY } from '../define/section.ts';
import { statesKey } from '../providers/key-pool.ts';
import { PROVIDERS } from '../providers/providers.ts';
import type { ProviderText } from '../providers/schema.ts';
import { amountContext } from '../sections/credits.ts';
import { TASKS } from '../sections/tasks.ts';
import { UNSTATED_LATENCY, UNSTATED_QUALITY } from '../sections/values.ts';
import { PRICES } from './contracts.ts';
import { reviewFallbacks } from './fallbacks.ts';
import { draftModels, isWildcard, type ModelDraft } from './models.ts';
import { checkAdapters } from './operations.ts';
import { type OtherNames, otherNames } from './other-names.ts';
import { ModelsText } from './wildcard-schema.ts';
import { draftWildcards } from './wildcards.ts';

/** The section `models`. The snapshot has only the models that can be served. */
export const MODELS = defineSection({
  name: 'models',
  text: ModelsText,
  guard: ORDINARY,
  page: ['Serve', 'language.md#models'],
  draft: draftCatalog,
  *compile({ drafts }, { made, report }): Generator<undefined, readonly ModelDraft[]> {
    yield;
    checkAdapters(drafts, made(PROVIDERS), report);
    return drafts;
  },
});

const isHosted = ({ data }: NamedItem<ProviderText>) => statesKey(data) || data?.preset !== undefined;

function draftCatalog(stated: DraftContext) {
  const { of, report } = stated;
  const { named: providers, openings } = of(PROVIDERS);
  const tasks = of(TASKS);
  const unstated = { unstatedQuality: of(UNSTATED_QUALITY), unstatedLatency: of(UNSTATED_LATENCY) };
  const amounts = amountContext(stated);
  const problemsBefore = report.found.length;
  const context = {
    ...amounts,
    ...unstated,
    contracts: of(PRICES),
    needsKey: new Map(providers.map(({ name, data }) => [name, statesKey(data)])),
    hosted: new Set(providers.filter(isHosted).map(({ name }) => name)),
    taskIndex: new Map(tasks.map(({ name }, index) => [name, index])),
    servesAny: openings.length > 0 || providers.some(({ data }) => data?.serves !== undefined),
  };
  const { named, drafts, ids, latencyOf } = draftModels(context);
  const wildcards = draftWildcards(providers, latencyOf, context);
  /** Whether the catalog has no errors, so that rules can be evaluated over it. */
  const isSound = stated.isSound && report.found.length === problemsBefore && ids.size + wildcards.length > 0;
  reviewFallbacks(named, drafts, report);
  return { drafts, wildcards, ids, isSound };
}

/**
 * Returns the other names of all models of the catalog. They are not part of the draft of `models`, because a draft is sent between
 * workers, and only other sections compare these names.
 */
export function otherNamesIn({ sections }: CheckContext): readonly OtherNames[] {
  const models = sections.get('models')?.value;
  const entries = models?.kind === 'map' ? models.entries : [];
  return entries.flatMap(({ key: name, value: tree }) =>
    isWildcard(name) ? [] : (otherNames({ name, path: `models.${name}`, tree }) ?? []),
  );
}
