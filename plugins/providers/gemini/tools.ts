import { type Members, type ModelRequest, pathText, type ToolDefinition } from 'signalbox/plugin';
import type { Json } from '../json.ts';
import { hintsOfTool, type Notes } from '../notes.ts';
import { geminiSchema } from './schema.ts';

const NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/;

/** The request's tools and tool choice. */
export function toolsOf(request: ModelRequest, notes: Notes): Json {
  const { tools } = request.conversation;
  if (tools.length === 0) return {};
  const names = new Set<string>();
  const functionDeclarations = tools.map((tool) => {
    const { name, description, parameters } = tool;
    const path = pathText(tool.valueAt);
    if (!NAME.test(name)) {
      notes.refuse(
        `${path}.name`,
        'must begin with a letter or underscore and contain only letters, digits and _ . : -',
      );
    }
    if (names.has(name)) notes.refuse(`${path}.name`, 'is the name of another tool too');
    names.add(name);
    for (const hint of hintsOfTool(request, tool)) notes.drop(`${hint.path}.cache_control`);
    return { name, description, parametersJsonSchema: schemaOf(parameters, `${path}.parameters`, notes) };
  });
  return {
    tools: [{ functionDeclarations }],
    toolConfig: { functionCallingConfig: callingOf(request, tools) },
  };
}

/** The parameters' schema, restricted to an object; undefined without parameters. */
function schemaOf(parameters: Members | undefined, path: string, notes: Notes): unknown {
  if (parameters === undefined || Object.keys(parameters).length === 0) return undefined;
  const { type = 'object' } = parameters;
  const isOneOf = Array.isArray(type) && type.includes('object');
  if (type !== 'object' && !isOneOf) notes.refuse(path, 'must describe an object');
  return geminiSchema(isOneOf ? { ...parameters, type: 'object' } : parameters);
}

function callingOf({ conversation }: ModelRequest, tools: readonly ToolDefinition[]): Json {
  const choice = conversation.toolChoice ?? 'auto';
  if (typeof choice === 'object') return { mode: 'ANY', allowedFunctionNames: [choice.name] };
  if (choice === 'none') return { mode: 'NONE' };
  if (choice === 'required') return { mode: 'ANY' };
  // `VALIDATED` enforces the schema, as `strict` requires.
  return { mode: tools.some(({ strict }) => strict) ? 'VALIDATED' : 'AUTO' };
}
