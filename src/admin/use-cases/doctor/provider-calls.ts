import type { ProviderFailure } from '../../../contract/parts.ts';
import type { ListedModel } from '../../../contract/provider.ts';
import { measuredModels } from '../../../core/decision/readings.ts';
import type { Runtime } from '../../../policy/runtime/runtime.ts';
import type { UpstreamAccount } from '../../../policy/runtime/upstream.ts';
import { UpstreamError } from '../../../providers/failures.ts';
import { listModels } from '../../../providers/model-list.ts';

/** How many providers are called at the same time. */
const CALLS_AT_ONCE = 4;
/** The longest time for the answer of one provider, ms. */
const CALL_MS = 8_000;
/** After this time no further call begins, ms. The last calls then end within the time limit of the run. */
const CALLS_MS = 20_000;

/** One key of a provider, or a provider without keys. */
interface KeyInUse {
  readonly target: UpstreamAccount;
  /** The variable that holds the key; null for a provider without keys. */
  readonly variable: string | null;
  /** The name of the key: its label, or its variable, with its number if the variable holds several; null for a provider without keys. */
  readonly keyName: string | null;
  /** The provider's own names of the models that the policy has at this key. */
  readonly upstreams: readonly string[];
}

/** A call of a provider for its list of models, which is free of charge, with its result. */
export interface KeyCall extends KeyInUse {
  /**
   * `no_list`: the adapter reads no list of models. `not_called`: the time was over. Otherwise the models, or why the provider returned
   * none.
   */
  readonly outcome: readonly ListedModel[] | ProviderFailure | 'no_list' | 'not_called';
  /** The provider's clock minus the clock of this machine, ms, at least; null if the answer has no date. */
  readonly clockOffsetMs: number | null;
}

/**
 * Returns the keys of the providers that serve models of the policy and are called over a network. Model servers of the operator that are
 * set up count, too: they serve no model while they are down.
 */
function keysInUse({ snapshot, accounts }: Runtime): readonly KeyInUse[] {
  const endpoints = measuredModels(snapshot).flatMap((model) => model.endpoints);
  const own = snapshot.models.flatMap((model) => model.endpoints);
  return [...accounts].flatMap(([name, targets]) => {
    const isOwn = snapshot.providers.get(name)?.discover !== undefined;
    const isUsed = isOwn || endpoints.some(({ provider }) => provider === name);
    if (!isUsed) return [];
    return targets.flatMap((target, at) => {
      if (target.adapter.kind !== 'wire') return [];
      const { apiKeyEnv, pooled } = target.provider.accounts[at] ?? target.provider.accounts[0];
      const upstreams = own
        .filter(({ provider, account = 0 }) => provider === name && account === at)
        .map(({ upstream }) => upstream);
      const keyName = pooled?.label ?? apiKeyEnv;
      return [{ target, variable: apiKeyEnv, keyName, upstreams: [...new Set(upstreams)] }];
    });
  });
}

/** Calls the provider of each key for its list of models, a few at a time. */
export async function callProviders(runtime: Runtime, now: () => number): Promise<readonly KeyCall[]> {
  const keys = keysInUse(runtime);
  const until = now() + CALLS_MS;
  const calls: KeyCall[] = keys.map((key) => ({ ...key, outcome: 'not_called', clockOffsetMs: null }));
  const waiting = keys.entries();
  const work = async () => {
    for (const [at, key] of waiting) if (now() < until) calls[at] = await callWith(key, now);
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, work));
  return calls;
}

async function callWith(key: KeyInUse, now: () => number): Promise<KeyCall> {
  const sentAt = now();
  let clockOffsetMs: number | null = null;
  const onHeaders = (headers: Headers) => {
    clockOffsetMs ??= clockOffsetOf(headers.get('date'), sentAt, now());
  };
  try {
    const listed = await listModels(key.target, { withinMs: CALL_MS, onHeaders });
    return { ...key, outcome: listed ?? 'no_list', clockOffsetMs };
  } catch (cause) {
    if (!(cause instanceof UpstreamError)) throw cause;
    return { ...key, outcome: cause.failure, clockOffsetMs };
  }
}

/**
 * Compares the header `date` of an answer with this machine's clock. The header states whole seconds, and the answer was written at some
 * moment between the request and its arrival, so the result is the smallest offset that fits, in ms.
 * @returns null without a valid date
 */
export function clockOffsetOf(date: string | null, sentAt: number, receivedAt: number): number | null {
  const from = Date.parse(date ?? '');
  if (Number.isNaN(from)) return null;
  const least = from - receivedAt;
  const most = from + 1_000 - sentAt;
  return least > 0 ? least : Math.min(most, 0);
}
