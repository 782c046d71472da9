import type { ChatRequest, Tool } from 'signalbox/plugin';
import type { Json } from '../json.ts';
import type { Notes } from '../notes.ts';
import type { Block, CacheMarks } from './cache.ts';
import { structured } from './schema.ts';

/** What names of tools are made of. */
const NAME = /^[a-zA-Z0-9_-]{1,128}$/;
/** Not at the top of a tool's schema. */
const COMBINED = ['oneOf', 'allOf', 'anyOf'] as const;

/** Strict tools of one request at most. */
const STRICT_MAX = 20;

/** The request's tools. `canBeStrict`: the model keeps to their schemas if told to. */
export function toolsOf(request: ChatRequest, canBeStrict: boolean, notes: Notes, marks: CacheMarks): Block[] {
  let strict = 0;
  const names = new Set<string>();
  return (request.tools ?? []).map((tool, at) => {
    const { name, description, parameters, strict: asked } = tool.function;
    const path = `tools[${at}].function`;
    if (!isToolName(name))
      notes.refuse(`${path}.name`, 'is not made of letters, digits, underscores and hyphens alone');
    if (names.has(name)) notes.refuse(`${path}.name`, 'is that of another tool');
    if (COMBINED.some((word) => parameters != null && word in parameters)) {
      notes.refuse(`${path}.parameters`, 'has oneOf, allOf or anyOf at its top, which the API refuses');
    }
    names.add(name);
    const schema = asked && canBeStrict && strict < STRICT_MAX ? structured(schemaOf(parameters)) : null;
    const isStrict = schema !== null && 'schema' in schema;
    if (isStrict) strict++;
    else if (asked) notes.drop(`${path}.strict`);
    const block = {
      name,
      ...(description && { description }),
      input_schema: isStrict ? schema.schema : schemaOf(parameters),
      ...(isStrict && { strict: true }),
    };
    const owner = [tool, tool.function].find((each: Json) => each.cache_control != null) ?? tool;
    return marks.keep(block, owner, `tools[${at}]`);
  });
}

export const isToolName = (name: string): boolean => NAME.test(name);

/** What a conversation calls must be declared, though it is not to be called again. */
export function declared(names: readonly string[]): Block[] {
  return names.map((name) => ({ name, input_schema: schemaOf(undefined) }));
}

/** How tools are to be used; undefined where that is left to the model. */
export function toolChoiceOf({ tool_choice: choice, parallel_tool_calls: parallel }: ChatRequest): Block | undefined {
  if (choice === 'none') return { type: 'none' };
  const single = parallel === false && { disable_parallel_tool_use: true };
  if (choice === 'required') return { type: 'any', ...single };
  if (typeof choice === 'object' && choice !== null) return { type: 'tool', name: choice.function.name, ...single };
  return single ? { type: 'auto', ...single } : undefined;
}

type Parameters = Tool['function']['parameters'];

/** Parameters left out are none. They are members of an object, whatever the schema says. */
function schemaOf(parameters: Parameters): Block {
  return { ...(parameters ?? { properties: {} }), type: 'object' };
}
