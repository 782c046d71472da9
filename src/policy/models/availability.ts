import type { ModelTraits } from '../../contract/provider.ts';
import { traitsOf } from '../../contract/traits.ts';
import type {
  Endpoint,
  LeftOut,
  Model,
  PolicySnapshot,
  Provider,
  ProviderAccount,
} from '../../core/policy/snapshot.ts';
import { CAPABILITIES, lackingBits, PASSTHROUGH_BITS } from '../../core/request/capability.ts';
import { messageOf } from '../../core/thrown.ts';
import { limitsAtKey } from '../providers/endpoint-limits.ts';
import type { ProviderSetup } from '../providers/setup.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';
import { inSteps } from '../report/steps.ts';
import type { ModelDraft } from './models.ts';
import { servable, type WildcardDraft } from './wildcards.ts';

export type ServingProviders = ReadonlyMap<string, Provider>;

/** The providers and models that can be served in this environment. */
export type Availability = Pick<PolicySnapshot, 'providers' | 'models' | 'leftOut'>;

/**
 * Leaves out providers whose environment variables are not set, and models without a provider. A provider with `serve: when_alone` is left
 * out if any other provider can serve a model, or if models were once found at a provider that is still set up, or its server is silent.
 * @param everUsed `used` of the found models
 */
export function selectAvailable(
  states: ReadonlyMap<string, ProviderSetup>,
  drafts: readonly ModelDraft[],
  wildcards: readonly WildcardDraft[],
  everUsed: readonly string[] = [],
): Availability {
  const ready = [...states.values()].filter((state) => state.unset.length === 0 && state.provider !== null);
  const all = servable({ models: drafts, wildcards });
  const used = new Set(all.flatMap((draft) => draft.endpoints.map(({ endpoint }) => endpoint.provider)));
  // A found model that only embeds replaces no simulated model for chats.
  const isReal = ({ model: { found, embedding } }: ModelDraft) => found === undefined || embedding === null;
  const real = new Set([
    ...all.filter(isReal).flatMap((draft) => draft.endpoints.map(({ endpoint }) => endpoint.provider)),
    ...everUsed,
  ]);
  const isAlone = !ready.some((state) => !state.whenAlone && real.has(state.name));
  const serving = new Map<string, Provider>();
  for (const { name, provider, whenAlone } of ready) {
    if (provider && (isAlone || !whenAlone)) serving.set(name, provider);
  }
  const models: Model[] = [];
  let firstSlot = 0;
  for (const { model, endpoints } of [...drafts].sort((a, b) => (a.model.id < b.model.id ? -1 : 1))) {
    const [first, ...rest] = endpoints
      .filter(({ endpoint }) => serving.has(endpoint.provider))
      .flatMap(({ endpoint }) => (model.spread ? atShares(endpoint, serving) : atAccounts(endpoint, serving)));
    if (!first) continue;
    models.push({
      ...model,
      pagesMax: pagesMaxOf(model, [first, ...rest], serving),
      endpoints: [first, ...rest],
      firstSlot,
    });
    firstSlot += 1 + rest.length;
  }
  return { providers: serving, models, leftOut: leftOutOf(states, all, used, serving) };
}

/** Returns an endpoint once for each key of its provider, in order, with the limits of the key. */
export function atAccounts(endpoint: Endpoint, serving: ServingProviders): [Endpoint, ...Endpoint[]] {
  const [first, ...others] = serving.get(endpoint.provider)!.accounts;
  const at = (key: ProviderAccount): Endpoint => {
    const limits = limitsAtKey(endpoint.limits, key.pooled?.limits);
    return limits === endpoint.limits ? endpoint : { ...endpoint, limits };
  };
  return [at(first), ...others.map((key, index) => ({ ...at(key), account: index + 1 }))];
}

/** Returns the endpoints of a model whose requests are spread: the keys of a pool divide the weight of their endpoint. */
function atShares(endpoint: Endpoint, serving: ServingProviders): readonly Endpoint[] {
  const keys = serving.get(endpoint.provider)!.accounts.map(({ pooled }) => pooled?.weight ?? 1);
  if (keys.length === 1) return atAccounts(endpoint, serving);
  const total = keys.reduce((sum, weight) => sum + weight, 0);
  const weightAt = (key: number) => ((endpoint.weight ?? 1) * keys[key]!) / total;
  return atAccounts(endpoint, serving).map((one, key) => ({ ...one, weight: weightAt(key) }));
}

/** Returns the most PDF pages that a model's services read: the model's own figure, or else its providers' figures. */
export function pagesMaxOf(
  { pagesMax: own }: Pick<Model, 'pagesMax'>,
  endpoints: readonly Endpoint[],
  serving: ServingProviders,
): Model['pagesMax'] {
  if (own.length > 0) return own;
  const stated = [...new Set(endpoints.map(({ provider }) => provider))].map((name) => serving.get(name)?.pagesMax);
  return stated.some((one) => one === undefined) ? [] : stated.filter((one) => one !== undefined);
}

function leftOutOf(
  states: ReadonlyMap<string, ProviderSetup>,
  drafts: readonly ModelDraft[],
  used: ReadonlySet<string>,
  serving: ServingProviders,
): LeftOut[] {
  const providers = [...states.values()]
    // A provider that is set up but has no model is reported only in `leftOut`.
    .filter(({ name }) => !serving.has(name) || !used.has(name))
    .map(({ name, unset, provider }) => {
      const without = provider?.discover
        ? 'no model of it is known here: a running server finds its models'
        : 'no model uses it';
      const idle = used.has(name) ? `it serves ${WHEN_ALONE}` : without;
      return { kind: 'provider' as const, name, reason: unsetText(unset) ?? idle };
    });
  const without = drafts
    .filter(({ endpoints }) => !endpoints.some(({ endpoint }) => serving.has(endpoint.provider)))
    .map(({ model, endpoints }) => {
      const names = [...new Set(endpoints.map(({ endpoint }) => endpoint.provider))];
      // A provider with all its variables set is left out only because another provider can serve.
      const isHeldBack = (name: string) => states.get(name)?.unset.length === 0;
      const labels = names.map((name) => (isHeldBack(name) ? `${name}, which serves ${WHEN_ALONE}` : name));
      const toCallers = `left out with its provider${names.length > 1 ? 's' : ''} ${labels.join(', ')}`;
      const missing = unsetText([...new Set(names.flatMap((name) => states.get(name)?.unset ?? []))]);
      const reason = missing === null ? toCallers : `${toCallers}: ${missing}`;
      return { kind: 'model' as const, name: model.id, reason, toCallers, model };
    });
  return [...providers, ...without];
}

const WHEN_ALONE = 'only while no other provider can';

const LIST = new Intl.ListFormat('en-GB');

/** Writes `A is not set` or `A, B and C are not set`; null for no variable. */
function unsetText(variables: readonly string[]): string | null {
  if (variables.length === 0) return null;
  return `${LIST.format(variables)} ${variables.length === 1 ? 'is' : 'are'} not set`;
}

/** Reports that no provider can serve, and the missing environment variables, at the location of the providers. */
export function reportNoProvider(states: ReadonlyMap<string, ProviderSetup>, place: SourceSpan, report: Report): void {
  const reasons = [...states.values()].map(({ unset }) => unsetText(unset)).filter((reason) => reason !== null);
  report.add('nothing-to-serve', place, 'no provider of the policy can serve a model in this environment', {
    expected: 'at least one provider whose environment variables are all set, or one with `serve: when_alone`',
    hint: reasons.join(', '),
  });
}

/** Describes how the environment affects the policy, without secrets. The revision of a policy includes this description. */
export function environmentFacts(states: ReadonlyMap<string, ProviderSetup>): readonly (readonly unknown[])[] {
  return [...states.values()]
    .map(
      ({ name, unset, provider }) =>
        [name, unsetText(unset), provider?.baseUrl ?? null, ...labelsOf(provider)] as const,
    )
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

/** The keys of a pool: the endpoints of models, and so the readings in records, depend on their number. */
const labelsOf = (provider: Provider | null): readonly string[] =>
  (provider?.accounts ?? []).flatMap(({ pooled }) => pooled?.label ?? []);

/** Removes from each endpoint the capabilities that its adapter cannot express. */
export function* narrowCapabilities(
  drafts: readonly ModelDraft[],
  states: ReadonlyMap<string, ProviderSetup>,
  report: Report,
): Generator<undefined, readonly ModelDraft[]> {
  /** Providers whose adapter failed, so that each provider is reported once. */
  const failed = new Set<string>();
  const narrowed = ({ provider, upstream, capabilities }: Endpoint, traits: ModelTraits, lacking: number): number => {
    const state = states.get(provider);
    try {
      const passed = lackingBits(state?.passes?.(traits, upstream) ?? []) & PASSTHROUGH_BITS & ~lacking;
      return (capabilities & ~lackingBits(state?.lacks?.(traits, upstream) ?? [])) | passed;
    } catch (error) {
      if (!state || failed.has(provider)) return capabilities;
      failed.add(provider);
      const message = `the adapter of provider \`${provider}\` fails to list the capabilities of its models: ${messageOf(error)}`;
      report.add('plugin-failed', state.place, message);
      return capabilities;
    }
  };
  return yield* inSteps(drafts, (draft) => {
    const traits = traitsOf(draft.model);
    const { declarable = 0, found } = draft.model;
    const lacking = found?.inserts === false ? CAPABILITIES.suffix.bit : 0;
    let expressed = 0;
    const endpoints = draft.endpoints.map((one) => {
      const all = narrowed({ ...one.endpoint, capabilities: one.endpoint.capabilities | declarable }, traits, lacking);
      expressed |= all & declarable;
      const capabilities = all & ~declarable;
      return capabilities === one.endpoint.capabilities ? one : { ...one, endpoint: { ...one.endpoint, capabilities } };
    });
    const capabilities = endpoints.reduce((bits, { endpoint }) => bits | endpoint.capabilities, 0);
    return { ...draft, endpoints, model: { ...draft.model, capabilities, declarable: expressed } };
  });
}
