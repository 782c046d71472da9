import type { NativeTool } from '../../core/conversation.ts';
import { isObject } from '../../core/object.ts';
import type { Members, OriginalPath } from '../../core/original.ts';

/** Tools that the client runs: they cost their tokens alone. */
const CLIENT_TOOL = /^(?:bash|text_editor|memory|computer)_\d{8}$/;
/** Tools that Anthropic runs, and bills by the use. */
const BILLED_TOOL = /^(web_search|web_fetch)_\d{8}$/;

/** Returns what Anthropic bills for a tool that only its dialect can say. */
export function billingOf(tool: Members & { readonly type: string }, at: OriginalPath): NativeTool['billing'] {
  if (CLIENT_TOOL.test(tool.type)) return 'tokens';
  const [, name] = BILLED_TOOL.exec(tool.type) ?? [];
  if (name === undefined) return 'unknown';
  const { max_uses: most } = tool;
  return { name, most: typeof most === 'number' ? most : null, mostAt: [...at, 'max_uses'] };
}

const always = (): boolean => true;
const otherThan =
  (...values: readonly unknown[]) =>
  (value: unknown): boolean =>
    !values.includes(value);

/** Fields that change Anthropic's bill by no price of the catalog, and with which values they do, as of November 2026. */
const UNPRICED: readonly (readonly [field: string, changesBill: (value: unknown) => boolean])[] = [
  ['service_tier', otherThan('auto', 'standard_only')],
  ['speed', otherThan('standard')],
  ['inference_geo', otherThan('global')],
  ['container', always],
  ['mcp_servers', (value) => !Array.isArray(value) || value.length > 0],
  ['compaction', always],
];

/** Returns the paths of a request that change the bill by no price of the catalog. */
export function unpricedIn(request: Members): readonly string[] {
  const paths: string[] = [];
  for (const [field, changesBill] of UNPRICED) {
    const value = request[field];
    if (value != null && changesBill(value)) paths.push(field);
  }
  const { context_management: management } = request;
  const edits = isObject(management) && Array.isArray(management.edits) ? management.edits : [];
  // What clears something costs nothing; a compaction is an answer of its own.
  const at = edits.findIndex((edit) => !(isObject(edit) && String(edit.type).startsWith('clear_')));
  if (at >= 0) paths.push(`context_management.edits[${at}]`);
  return paths;
}
