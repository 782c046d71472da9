import { isObject, listOf, objectOf } from '../../core/json/object.ts';
import { type Members, type OriginalPath, pathText } from '../../core/json/original.ts';
import { isUseLimit } from '../../core/money/add-ons.ts';
import type { NativeTool } from '../../core/request/conversation.ts';

/** Tools that the client runs, which cost only their tokens. */
const CLIENT_TOOL = /^(?:bash|text_editor|memory|computer)_\d{8}$/;
/** Tools that Anthropic runs and bills per use. */
const BILLED_TOOL = /^(web_search|web_fetch)_\d{8}$/;

/** Returns what Anthropic bills for a tool that only its dialect can express. */
export function billingOf(tool: Members & { readonly type: string }, at: OriginalPath): NativeTool['billing'] {
  if (CLIENT_TOOL.test(tool.type)) return 'tokens';
  const [, name] = BILLED_TOOL.exec(tool.type) ?? [];
  if (name === undefined) return 'unknown';
  const { max_uses: most } = tool;
  return { name, most: isUseLimit(most) ? most : null, mostAt: [...at, 'max_uses'] };
}

/** Returns the tools that a block adds to the tools of the request, except the caller's own tools. */
export function toolsAddedBy(block: unknown, at: OriginalPath): readonly NativeTool[] {
  if (!isObject(block)) return [];
  // A summary of earlier turns repeats the changes of tools from these turns.
  if (block.type === 'compaction' && Array.isArray(block.tool_changes))
    return block.tool_changes.flatMap((change, i) => toolsAddedBy(change, [...at, 'tool_changes', i]));
  const { definition } = objectOf(block.tool);
  if (block.type !== 'tool_addition' || !isObject(definition)) return [];
  const { type } = definition;
  if (typeof type !== 'string' || type === 'custom') return [];
  const place = [...at, 'tool', 'definition'];
  return [{ kind: type, at: place, billing: billingOf({ ...definition, type }, place) }];
}

/** Fields that let Anthropic run code or tools. No other provider has fields that let it run code or tools. */
const RUNNERS = ['container', 'mcp_servers'] as const;

/** Returns the fields of a request that act as tools although they are not in `tools`. */
export const runnersIn = (body: Members): readonly NativeTool[] =>
  RUNNERS.flatMap((field) => {
    const value = body[field];
    const isNone = value == null || (Array.isArray(value) && value.length === 0);
    return isNone ? [] : [{ kind: field, at: [field], billing: 'unknown' as const }];
  });

const always = (): boolean => true;
const otherThan =
  (...values: readonly unknown[]) =>
  (value: unknown): boolean =>
    !values.includes(value);

/** Fields that change Anthropic's bill without a price in the catalog, with a test for the values that do so. */
const UNPRICED: readonly (readonly [field: string, isBilled: (value: unknown) => boolean])[] = [
  ['inference_geo', otherThan('global')],
  ['compaction', always],
  ['fallbacks', always],
  ['fallback_credit_token', always],
  ['billing_policy', always],
];

/** Returns the paths of fields in a request that change Anthropic's bill without a price in the catalog. */
export function unpricedIn(body: Members): readonly string[] {
  const fields = UNPRICED.flatMap(([field, isBilled]) => (body[field] != null && isBilled(body[field]) ? [field] : []));
  const edits = listOf(objectOf(body.context_management).edits);
  // Edits that clear content are free of charge; for other edits the model writes text.
  const billed = edits.flatMap((edit, i) =>
    isObject(edit) && typeof edit.type === 'string' && edit.type.startsWith('clear_')
      ? []
      : [pathText(['context_management', 'edits', i, 'type'])],
  );
  return [...fields, ...billed];
}
