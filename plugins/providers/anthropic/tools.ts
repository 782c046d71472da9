import { type Members, type ModelRequest, pathText, structuredSchema } from 'signalbox/plugin';
import { hintsOfTool, type Notes } from '../notes.ts';
import type { Block, CacheMarks } from './cache.ts';

const NAME = /^[a-zA-Z0-9_-]{1,128}$/;
/** Keywords that are not allowed at the top of a tool's schema. */
const COMBINED = ['oneOf', 'allOf', 'anyOf'] as const;

/** The maximum number of strict tools in one request. */
const STRICT_MAX = 20;

/** Translates the request's tools. @param canBeStrict whether the model supports strict schemas */
export function toolsOf(request: ModelRequest, canBeStrict: boolean, notes: Notes, marks: CacheMarks): Block[] {
  let strict = 0;
  const names = new Set<string>();
  return request.conversation.tools.map((tool) => {
    const { name, description, parameters, strict: requested } = tool;
    const path = pathText(tool.valueAt);
    if (!isToolName(name)) notes.refuse(`${path}.name`, 'must contain only letters, digits, underscores and hyphens');
    if (names.has(name)) notes.refuse(`${path}.name`, 'is also the name of another tool');
    if (COMBINED.some((word) => parameters !== undefined && word in parameters)) {
      notes.refuse(`${path}.parameters`, 'must not have oneOf, allOf or anyOf at the top for this provider');
    }
    names.add(name);
    const schema = requested && canBeStrict && strict < STRICT_MAX ? structuredSchema(schemaOf(parameters)) : null;
    const isStrict = schema !== null && 'schema' in schema;
    if (isStrict) strict++;
    else if (requested) notes.drop(`${path}.strict`);
    const block = {
      name,
      ...(description && { description }),
      input_schema: isStrict ? schema.schema : schemaOf(parameters),
      ...(isStrict && { strict: true }),
    };
    const [hint] = hintsOfTool(request, tool);
    return hint ? marks.keep(block, hint.owner, pathText(tool.at)) : block;
  });
}

export const isToolName = (name: string): boolean => NAME.test(name);

/** Declares the tools that earlier turns call, as the API requires. */
export function declarationsOf(names: readonly string[]): Block[] {
  return names.map((name) => ({ name, input_schema: schemaOf(undefined) }));
}

/** Returns the tool choice; undefined lets the model decide. */
export function toolChoiceOf({ conversation, settings }: ModelRequest): Block | undefined {
  const { toolChoice: choice } = conversation;
  if (choice === 'none') return { type: 'none' };
  const single = settings.parallelToolCalls === false && { disable_parallel_tool_use: true };
  if (choice === 'required') return { type: 'any', ...single };
  if (typeof choice === 'object') return { type: 'tool', name: choice.name, ...single };
  return single ? { type: 'auto', ...single } : undefined;
}

/** Returns the schema of the parameters, which is always the schema of an object; an empty schema without parameters. */
function schemaOf(parameters: Members | undefined): Block {
  return { ...(parameters ?? { properties: {} }), type: 'object' };
}
