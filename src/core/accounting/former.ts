import type { AskedAddOns } from '../money/add-ons.ts';
import { toolUse } from '../money/units.ts';
import type { Usage } from '../money/usage.ts';

/** This file converts what builds before version 31 of the ledger's tables have stored elsewhere: in records, answers, threads and spools. */

/** What such a build billed in addition to tokens. The hour's tokens are a part of `written`. */
export interface FormerAddOns {
  readonly hourCacheTokens?: number;
  readonly toolUses?: Readonly<Record<string, number>>;
}

/** Converts the counts of a usage that such a build stored. `cached` and `written` are parts of `input`. */
export function formerUsage(
  [inputTokens = 0, cached = 0, written = 0, outputTokens = 0, reasoningTokens = 0]: readonly number[],
  { hourCacheTokens: hour = 0, toolUses = {} }: FormerAddOns,
): Usage {
  const units: Record<string, number> = {};
  if (cached > 0) units.cached_input = cached;
  if (written > hour) units.cache_write = written - hour;
  if (hour > 0) units.cache_write_1h = hour;
  for (const name in toolUses) if (toolUses[name]! > 0) units[toolUse(name)] = toolUses[name]!;
  return { inputTokens, outputTokens, reasoningTokens, units: Object.keys(units).length > 0 ? units : undefined };
}

/** A usage as such a build wrote it as a whole. */
interface FormerUsage extends Omit<Usage, 'units'> {
  readonly cachedInputTokens: number;
  readonly cacheWriteTokens: number;
  readonly addOns?: FormerAddOns;
}

export function currentUsage(stored: Usage | FormerUsage): Usage {
  if (!('cachedInputTokens' in stored)) return stored;
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens, addOns = {} } = stored;
  return formerUsage([inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens], addOns);
}

/** Add-ons of a request. Such a build stored whether the request asked for a cache of one hour, the only such unit. */
export type StoredAddOns = AskedAddOns | (Omit<AskedAddOns, 'units'> & { readonly hourCache: boolean });

export function currentAddOns(stored: StoredAddOns): AskedAddOns {
  if (!('hourCache' in stored)) return stored;
  const { hourCache, ...rest } = stored;
  return { ...rest, units: hourCache ? ['cache_write_1h'] : [] };
}
