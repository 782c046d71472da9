import type { NativeTool } from '../../core/conversation.ts';

/** Kinds of tools that the caller runs, as OpenAI's reference has them in November 2026: they bill nothing but tokens. */
const OF_CALLER: ReadonlySet<string> = new Set([
  'apply_patch',
  'computer',
  'computer_use_preview',
  'local_shell',
  'shell',
  'tool_search',
]);

/** The kinds of web search, with or without a date: `web_search_preview_2025_03_11`. */
const WEB_SEARCH = /^web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?$/;

/**
 * Returns what OpenAI bills for a kind of tool.
 * @param most `max_tool_calls`, which limits all tools of OpenAI together
 */
export function billingOf(kind: string, most: number | null): NativeTool['billing'] {
  if (OF_CALLER.has(kind)) return 'tokens';
  return WEB_SEARCH.test(kind) ? { name: 'web_search', most, mostAt: ['max_tool_calls'] } : 'unknown';
}
