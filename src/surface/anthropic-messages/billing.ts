import type { NativeTool } from '../../core/conversation.ts';
import type { Members, OriginalPath } from '../../core/original.ts';

/** Tools that the client runs: they cost their tokens alone. */
const CLIENT_TOOL = /^(?:bash|text_editor|memory|computer)_\d{8}$/;
/** Tools that Anthropic runs, and bills by the use. */
const BILLED_TOOL = /^(web_search|web_fetch)_\d{8}$/;

/** Whether a tool costs its tokens alone. */
export const isOfClient = (kind: string): boolean => CLIENT_TOOL.test(kind);

/** Returns what Anthropic bills for a tool that only its dialect can say. */
export function billingOf(tool: Members & { readonly type: string }, at: OriginalPath): NativeTool['billing'] {
  if (isOfClient(tool.type)) return 'tokens';
  const [, name] = BILLED_TOOL.exec(tool.type) ?? [];
  if (name === undefined) return 'unknown';
  const { max_uses: most } = tool;
  return { name, most: typeof most === 'number' ? most : null, mostAt: [...at, 'max_uses'] };
}
