import { mapOf } from '../../core/define/fields.ts';
import type { Provider } from '../../core/policy/snapshot.ts';
import { checkNamed } from '../check/section-checks.ts';
import { defineSection, type KeyGuards, ORDINARY, UNCHECKED } from '../define/section.ts';
import { inSteps } from '../report/steps.ts';
import { openingsOf } from './discover.ts';
import { ProviderText } from './schema.ts';
import { compileProvider, type ProviderSetup } from './setup.ts';

/** The guard of a new provider. */
export const DESTINATION = 'it decides where requests and keys are sent';

const GUARDS: KeyGuards<ProviderText> = {
  adapter: DESTINATION,
  preset: DESTINATION,
  base_url: DESTINATION,
  base_url_env: DESTINATION,
  api_key_env: DESTINATION,
  api_keys_env: DESTINATION,
  allow_private_network: DESTINATION,
  // Settings of adapters contain paths, versions and headers.
  settings: DESTINATION,
  passthrough: UNCHECKED,
  cache_ttl_s: ORDINARY,
  cache_min_tokens: ORDINARY,
  after_abort: ORDINARY,
  pages_max: ORDINARY,
  serve: ORDINARY,
  serves: ORDINARY,
  // `guardedChanges` compares the effect, because the default depends on other keys. Turning discovery off is ordinary.
  discover: ORDINARY,
};

/** The section `providers`. The snapshot has only the providers that serve. */
export const PROVIDERS = defineSection({
  name: 'providers',
  text: mapOf(ProviderText, 'Name → provider.'),
  guard: GUARDS,
  page: ['Serve', 'language.md#providers'],
  draft(context) {
    const named = checkNamed('providers', ProviderText, context);
    return {
      named,
      place: context.sections.get('providers')?.place ?? context.start,
      /** The beginnings of the IDs of models that may be found. */
      openings: openingsOf(named),
    };
  },
  *compile(
    { named },
    { env, plugins, installation, report },
  ): Generator<undefined, ReadonlyMap<string, ProviderSetup>> {
    const scope = { env, report, providers: plugins.providers, isReviewed: installation.today !== undefined };
    const setups = yield* inSteps(named, (one) => compileProvider(one, scope));
    return new Map(setups.map((setup) => [setup.name, setup]));
  },
});

/** Returns the shortest prompt that any of these providers caches, in tokens; Infinity if no provider caches prompts. */
export function cachedTokensMin(providers: Iterable<Pick<Provider, 'cache'>>): number {
  let least = Number.POSITIVE_INFINITY;
  for (const { cache } of providers) if (cache.ttlMs > 0) least = Math.min(least, cache.tokensMin);
  return least;
}
