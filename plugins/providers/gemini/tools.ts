import type { ChatRequest, Tool } from 'signalbox/plugin';
import type { Json } from '../json.ts';
import type { Notes } from '../notes.ts';
import { dropHint } from './parts.ts';
import { geminiSchema } from './schema.ts';

const NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/;

/** The request's tools and tool choice. */
export function toolsOf({ tools, tool_choice: choice }: ChatRequest, notes: Notes): Json {
  if (!tools?.length) return {};
  const names = new Set<string>();
  const functionDeclarations = tools.map((tool, at) => {
    const path = `tools[${at}].function`;
    const { name, description, parameters } = tool.function;
    if (!NAME.test(name)) {
      notes.refuse(
        `${path}.name`,
        'is not a letter or underscore, and then those, digits, dots, colons or dashes alone',
      );
    }
    if (names.has(name)) notes.refuse(`${path}.name`, 'is that of another tool');
    names.add(name);
    dropHint(tool, `tools[${at}]`, notes);
    dropHint(tool.function, path, notes);
    return { name, description, parametersJsonSchema: schemaOf(parameters, `${path}.parameters`, notes) };
  });
  return {
    tools: [{ functionDeclarations }],
    toolConfig: { functionCallingConfig: callingOf(tools, choice ?? 'auto') },
  };
}

/** The parameters' schema, restricted to an object; undefined without parameters. */
function schemaOf(parameters: Tool['function']['parameters'], path: string, notes: Notes): unknown {
  if (parameters == null || Object.keys(parameters).length === 0) return undefined;
  const { type = 'object' }: Json = parameters;
  const isOneOf = Array.isArray(type) && type.includes('object');
  if (type !== 'object' && !isOneOf) notes.refuse(path, 'are not those of an object');
  return geminiSchema(isOneOf ? { ...parameters, type: 'object' } : parameters);
}

function callingOf(tools: readonly Tool[], choice: NonNullable<ChatRequest['tool_choice']>): Json {
  if (typeof choice === 'object') return { mode: 'ANY', allowedFunctionNames: [choice.function.name] };
  if (choice === 'none') return { mode: 'NONE' };
  if (choice === 'required') return { mode: 'ANY' };
  // `VALIDATED` enforces the schema, as `strict` requires.
  return { mode: tools.some((tool) => tool.function.strict) ? 'VALIDATED' : 'AUTO' };
}
