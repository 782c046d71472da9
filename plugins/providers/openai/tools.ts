import { type Members, type ModelRequest, pathText } from 'signalbox/plugin';
import { hintsOfTool, type Notes } from '../notes.ts';
import { isToolName } from './calls.ts';

/** The request's tools for Responses. */
export function toolsOf(request: ModelRequest, notes: Notes): readonly Members[] {
  return request.conversation.tools.map((tool) => {
    const { name, description, parameters, strict, extras } = tool;
    const path = pathText(tool.valueAt);
    for (const hint of hintsOfTool(request, tool)) notes.drop(`${hint.path}.cache_control`);
    if (!isToolName(name)) {
      notes.refuse(`${path}.name`, 'must contain only letters, digits, underscores and hyphens');
    }
    // Unlike in chat completions, the default of `strict` is true.
    const isStrict = strict ?? false;
    const { cache_control: _, ...more } = extras;
    const schema = schemaOf(parameters, isStrict, path, notes);
    return { ...more, name, description, type: 'function', parameters: schema, strict: isStrict };
  });
}

/** The parameters' schema, restricted to an object. */
function schemaOf(parameters: Members | undefined, isStrict: boolean, path: string, notes: Notes): Members {
  const schema: Members = parameters ?? {};
  if (Object.keys(schema).length === 0) {
    return { type: 'object', properties: {}, ...(isStrict && { additionalProperties: false }) };
  }
  const { type = 'object' } = schema;
  if (type !== 'object' && !(Array.isArray(type) && type.includes('object'))) {
    notes.refuse(`${path}.parameters`, 'must describe an object');
  }
  if (isStrict && schema.additionalProperties !== false) {
    notes.refuse(`${path}.parameters`, 'must have `additionalProperties: false`, because the tool is strict');
  }
  return { ...schema, type: 'object' };
}
