import { isObject } from '../../core/json/object.ts';
import type { Members } from '../../core/json/original.ts';
import type { NativeTool } from '../../core/request/conversation.ts';

/**
 * Kinds of tools that the caller runs, according to OpenAI's reference of November 2026. Tools that the caller runs cost only their tokens.
 */
const OF_CALLER: ReadonlySet<string> = new Set(['apply_patch', 'computer', 'computer_use_preview', 'local_shell']);

/** The kinds of web search, with or without a date, such as `web_search_preview_2025_03_11`. */
const WEB_SEARCH = /^web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?$/;

/**
 * Returns what OpenAI bills for a tool.
 * @param most `max_tool_calls`, which limits all of OpenAI's tools together
 */
export function billingOf(tool: Members, most: number | null): NativeTool['billing'] {
  const { environment, execution } = tool;
  const kind = String(tool.type);
  if (OF_CALLER.has(kind)) return 'tokens';
  // Both the caller and OpenAI can run the tools `shell` and `tool_search`.
  if (kind === 'shell' && isObject(environment) && environment.type === 'local') return 'tokens';
  if (kind === 'tool_search' && execution === 'client') return 'tokens';
  return WEB_SEARCH.test(kind) ? { name: 'web_search', most, mostAt: ['max_tool_calls'] } : 'unknown';
}

/** Fields that change the bill with any value. */
const UNPRICED = ['background_options', 'context_management', 'multi_agent'] as const;

/** Returns the paths of fields in a request that change OpenAI's bill without a price in the catalog. */
export function unpricedIn(request: Members): readonly string[] {
  const { input } = request;
  const paths: string[] = UNPRICED.filter((field) => request[field] != null);
  // A compaction makes the provider write a summary whose length the provider decides itself.
  const at = Array.isArray(input) ? input.findIndex(isCompaction) : -1;
  if (at >= 0) paths.push(`input[${at}]`);
  return paths;
}

const isCompaction = (item: unknown): boolean => isObject(item) && item.type === 'compaction_trigger';
