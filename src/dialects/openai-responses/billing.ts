import type { NativeTool } from '../../core/conversation.ts';
import { isObject } from '../../core/object.ts';
import type { Members } from '../../core/original.ts';

/** Kinds of tools that the caller runs, as OpenAI's reference has them in November 2026: they bill nothing but tokens. */
const OF_CALLER: ReadonlySet<string> = new Set(['apply_patch', 'computer', 'computer_use_preview', 'local_shell']);

/** The kinds of web search, with or without a date: `web_search_preview_2025_03_11`. */
const WEB_SEARCH = /^web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?$/;

/**
 * Returns what OpenAI bills for a tool.
 * @param most `max_tool_calls`, which limits all tools of OpenAI together
 */
export function billingOf(tool: Members, most: number | null): NativeTool['billing'] {
  const { environment, execution } = tool;
  const kind = String(tool.type);
  if (OF_CALLER.has(kind)) return 'tokens';
  // Either side can run these.
  if (kind === 'shell' && isObject(environment) && environment.type === 'local') return 'tokens';
  if (kind === 'tool_search' && execution === 'client') return 'tokens';
  return WEB_SEARCH.test(kind) ? { name: 'web_search', most, mostAt: ['max_tool_calls'] } : 'unknown';
}

/** Whether a tier of service is billed by the usual prices. */
export const isDefaultTier = (tier: unknown): boolean => tier == null || tier === 'auto' || tier === 'default';

/** Fields that change OpenAI's bill by no price of the catalog, as the request has them. */
export function unpricedIn(request: Members): readonly string[] {
  const { context_management, prompt_cache_options, service_tier, input } = request;
  const paths: string[] = [];
  if (context_management != null) paths.push('context_management');
  if (prompt_cache_options != null) paths.push('prompt_cache_options');
  if (!isDefaultTier(service_tier)) paths.push('service_tier');
  // The summary that it has written is as long as the service likes.
  const at = Array.isArray(input) ? input.findIndex(isCompaction) : -1;
  if (at >= 0) paths.push(`input[${at}]`);
  return paths;
}

const isCompaction = (item: unknown): boolean => isObject(item) && item.type === 'compaction_trigger';
