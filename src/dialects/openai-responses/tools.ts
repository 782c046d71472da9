import { extrasOf } from '../../core/api/extras.ts';
import { isObject } from '../../core/json/object.ts';
import type { Members, OriginalPath } from '../../core/json/original.ts';
import type { NativeTool, ToolChoice, ToolDefinition } from '../../core/request/conversation.ts';
import { billingOf } from './billing.ts';
import {
  type CustomTool,
  type FunctionTool,
  isAllowedTools,
  type ResponsesRequest,
  type ResponsesTool,
} from './request.ts';

type StatedChoice = ResponsesRequest['tool_choice'];

/** A tool as the caller's dialect names it. */
export interface CalledTool {
  readonly type: 'function' | 'custom';
  readonly name: string;
  readonly namespace: string | null;
}

/** The tools of a request: tools with a neutral form, and tools that only this dialect can express. */
export interface ToolTable {
  readonly tools: readonly ToolDefinition[];
  readonly native: readonly NativeTool[];
  /** The caller's tools by their neutral names. */
  readonly called: ReadonlyMap<string, CalledTool>;
}

const OF_FUNCTION: readonly string[] = ['type', 'name', 'description', 'parameters', 'strict'];
const OF_CUSTOM: readonly string[] = ['type', 'name', 'description', 'format'];

/** The name of the only argument of a custom tool that is offered as a function. */
export const CUSTOM_ARGUMENT = 'input';
const CUSTOM_PARAMETERS = {
  type: 'object',
  properties: { [CUSTOM_ARGUMENT]: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
  required: [CUSTOM_ARGUMENT],
  additionalProperties: false,
};

const NO_TABLE: ToolTable = { tools: [], native: [], called: new Map() };

/** @param usesMax the maximum number of uses of tools that OpenAI runs; null for no limit */
export function toolTable(list: ResponsesRequest['tools'], usesMax: number | null = null): ToolTable {
  if (!list || list.length === 0) return NO_TABLE;
  const tools: ToolDefinition[] = [];
  const native: NativeTool[] = [];
  const called = new Map<string, CalledTool>();
  const taken = list.some(({ type }) => type === 'namespace') ? namesIn(list) : NO_NAMES;
  const add = (tool: ResponsesTool, at: OriginalPath, namespace: string | null): void => {
    if (tool.type !== 'function' && tool.type !== 'custom') {
      native.push({ kind: tool.type, at, billing: billingOf(tool, usesMax) });
      return;
    }
    const name = neutralName(tool.name, namespace, taken);
    tools.push(tool.type === 'function' ? functionOf(tool, name, at) : functionOfCustom(tool, name, at));
    called.set(name, { type: tool.type, name: tool.name, namespace });
  };
  for (const [index, tool] of list.entries()) {
    if (tool.type !== 'namespace') add(tool, ['tools', index], null);
    else for (const [at, one] of tool.tools.entries()) add(one, ['tools', index, 'tools', at], tool.name);
  }
  return { tools, native, called };
}

/** Kinds of tools that the caller runs. */
const OWN_KINDS: ReadonlySet<unknown> = new Set(['function', 'custom']);

/** Adds the tools that items of the input add to the request, except the caller's own tools, which `additional_tools` adds. */
export function addToolsOfInput(input: ResponsesRequest['input'], usesMax: number | null, native: NativeTool[]): void {
  if (typeof input === 'string') return;
  for (let i = 0; i < input.length; i++) {
    const item = input[i]!;
    if ('tools' in item && Array.isArray(item.tools)) addNative(item.tools, ['input', i, 'tools'], usesMax, native);
  }
}

function addNative(list: readonly unknown[], at: OriginalPath, usesMax: number | null, native: NativeTool[]): void {
  for (const [index, tool] of list.entries()) {
    if (!isObject(tool) || typeof tool.type !== 'string' || OWN_KINDS.has(tool.type)) continue;
    const place = [...at, index];
    if (tool.type !== 'namespace') native.push({ kind: tool.type, at: place, billing: billingOf(tool, usesMax) });
    else if (Array.isArray(tool.tools)) addNative(tool.tools, [...place, 'tools'], usesMax, native);
  }
}

const NO_NAMES: ReadonlyMap<string, number> = new Map();

/** Returns how many tools have each name, in all namespaces together. */
function namesIn(list: readonly ResponsesTool[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const tool of list.flatMap((one): readonly ResponsesTool[] => (one.type === 'namespace' ? one.tools : [one]))) {
    const name = 'name' in tool && typeof tool.name === 'string' ? tool.name : '';
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

/** Returns a unique name for each tool, because other dialects have no namespaces. */
const neutralName = (name: string, namespace: string | null, taken: ReadonlyMap<string, number>): string =>
  namespace === null || (taken.get(name) ?? 0) <= 1 ? name : longName(name, namespace);

const longName = (name: string, namespace: string): string => `${namespace}__${name}`;

/** Returns the neutral name of a tool that an earlier call names. The request may no longer offer a tool that an earlier call names. */
export function nameOfCall({ called }: ToolTable, name: string, namespace: string | null): string {
  const names = namespace === null ? [name] : [name, longName(name, namespace)];
  const isNamed = (neutral: string): boolean => {
    const tool = called.get(neutral);
    return tool?.name === name && tool.namespace === namespace;
  };
  return names.find(isNamed) ?? name;
}

function functionOf(tool: FunctionTool, name: string, at: OriginalPath): ToolDefinition {
  const { description, parameters, strict } = tool;
  return {
    name,
    description: description ?? undefined,
    parameters: parameters ?? undefined,
    strict: strict ?? undefined,
    extras: extrasOf(tool, OF_FUNCTION),
    at,
    valueAt: at,
  };
}

function functionOfCustom(tool: CustomTool, name: string, at: OriginalPath): ToolDefinition {
  const description = [tool.description ?? '', grammarOf(tool)].filter((one) => one !== '').join('\n\n');
  return {
    name,
    ...(description !== '' && { description }),
    parameters: CUSTOM_PARAMETERS,
    extras: extrasOf(tool, OF_CUSTOM),
    at,
    valueAt: at,
  };
}

/**
 * Describes the grammar of a custom tool in the argument's description, because a model can follow a grammar even if nothing enforces it.
 */
function grammarOf({ format }: CustomTool): string {
  const { definition, syntax }: Members = format ?? {};
  if (typeof definition !== 'string') return '';
  const named = typeof syntax === 'string' ? ` (${syntax})` : '';
  return `\`${CUSTOM_ARGUMENT}\` must follow this grammar${named}:\n${definition}`;
}

/** The tools of a request that may be called, and the paths of the caller's other tools. */
interface OfferedTools {
  readonly tools: readonly ToolDefinition[];
  readonly native: readonly NativeTool[];
  readonly leftOut: readonly OriginalPath[];
}

/** Whether a tool is directly in the list, so that it can be removed from the list. */
const isListed = ({ at }: NativeTool): boolean => at.length === 2;

/** Separates the tools according to `tool_choice`, because not every provider can be told to ignore some tools. */
export function offeredTools(choice: StatedChoice, table: ToolTable): OfferedTools {
  if (!isAllowedTools(choice)) return { ...table, leftOut: [] };
  const names = new Set<string>();
  const namespaces = new Set<unknown>();
  const kinds = new Set<string>();
  for (const tool of choice.tools) {
    const { name, namespace }: Members = tool;
    if (OWN_KINDS.has(tool.type)) names.add(keyOf(name, namespace));
    else if (tool.type === 'namespace') namespaces.add(name);
    else kinds.add(tool.type);
  }
  const mayCall = (tool: ToolDefinition): boolean => {
    const { name, namespace } = table.called.get(tool.name)!;
    return namespaces.has(namespace) || names.has(keyOf(name, namespace)) || names.has(keyOf(name, null));
  };
  const native = table.native.map((tool) =>
    kinds.has(tool.kind) || !isListed(tool) ? tool : { ...tool, isLeftOut: true },
  );
  return {
    tools: table.tools.filter(mayCall),
    native,
    leftOut: table.tools.filter((tool) => !mayCall(tool)).map(({ at }) => at),
  };
}

const keyOf = (name: unknown, namespace: unknown): string => JSON.stringify([namespace ?? null, name]);

/** Returns the tool choice. `choiceOf` adds a choice that only this dialect can express to the native tools. */
export function choiceOf(choice: StatedChoice, table: ToolTable, native: NativeTool[]): ToolChoice | undefined {
  if (choice === undefined || typeof choice === 'string') return choice;
  if (isAllowedTools(choice)) return choice.mode ?? 'auto';
  const { type, name, namespace } = { name: null, namespace: null, ...choice };
  if ((type === 'function' || type === 'custom') && typeof name === 'string') {
    return { name: nameOfCall(table, name, typeof namespace === 'string' ? namespace : null) };
  }
  native.push({ kind: type, at: ['tool_choice'], billing: 'tokens' });
  return undefined;
}
