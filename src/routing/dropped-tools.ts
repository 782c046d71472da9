import { isObject } from '../core/json/object.ts';
import { type Edit, pathText } from '../core/json/original.ts';
import type { GatewayPolicy } from '../core/policy/snapshot.ts';
import type { NativeTool } from '../core/request/conversation.ts';
import type { ModelRequest } from '../core/request/model-request.ts';

const NONE: readonly string[] = [];
const NO_KINDS: ReadonlySet<string> = new Set();

/**
 * Removes the tools of a request that the provider runs itself, if the request does not allow them or the policy drops their kind. A tool
 * that the request forces, or that is the only tool, stays: without that tool, the answer would not be the requested one.
 */
export function withoutDroppedTools(request: ModelRequest, { dropTools }: Pick<GatewayPolicy, 'dropTools'>) {
  const { nativeTools, tools } = request.conversation;
  if (nativeTools === undefined) return { request, dropped: NONE };
  const kinds = tools.length === 0 ? NO_KINDS : dropTools;
  if (kinds.size === 0 && !nativeTools.some(({ isLeftOut }) => isLeftOut)) return { request, dropped: NONE };
  return reduced(request, nativeTools, kinds);
}

/** Returns the request without the given tools, and the paths of the removed tools. */
function reduced(request: ModelRequest, nativeTools: readonly NativeTool[], dropTools: ReadonlySet<string>) {
  const { tools, toolChoice } = request.conversation;
  const isForced =
    nativeTools.some(({ at }) => at[0] === 'tool_choice') ||
    (typeof toolChoice === 'object' && !tools.some(({ name }) => name === toolChoice.name));
  const places = nativeTools.flatMap(({ kind, at, isLeftOut }) =>
    (isLeftOut || dropTools.has(kind)) && at[0] === 'tools' && at.length === 2 ? [at] : [],
  );
  const list = request.originalAt(['tools']);
  if (isForced || places.length === 0 || !Array.isArray(list)) return { request, dropped: NONE };
  const indexes = new Set(places.map(([, index]) => index));
  const left: readonly unknown[] = list.filter((_, index) => !indexes.has(index));
  const edits = [{ at: ['tools'], value: left }, ...allowedWithout(request, dropTools)];
  return { request: request.edit(edits), dropped: places.map(pathText) };
}

/**
 * Also removes the tools from the list that `tool_choice` allows, because the provider rejects the name of a tool that the request does not
 * contain.
 */
function allowedWithout(request: ModelRequest, dropTools: ReadonlySet<string>): Edit[] {
  const at = ['tool_choice', 'tools'];
  const allowed = request.originalAt(at);
  if (!Array.isArray(allowed)) return [];
  return [{ at, value: allowed.filter((tool) => !isObject(tool) || !dropTools.has(String(tool.type))) }];
}
