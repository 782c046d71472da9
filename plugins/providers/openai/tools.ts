import type { Members, Tool } from 'signalbox/plugin';
import type { Notes } from '../notes.ts';
import { isToolName } from './calls.ts';

/** The request's tools for Responses. */
export function toolsOf(tools: readonly Tool[], notes: Notes): readonly Members[] {
  return tools.map((tool, at) => {
    const path = `tools[${at}].function`;
    const { parameters, strict, cache_control: hint, ...fn }: Tool['function'] & Members = tool.function;
    if (hint != null) notes.drop(`${path}.cache_control`);
    if ((tool as Members).cache_control != null) notes.drop(`tools[${at}].cache_control`);
    if (!isToolName(fn.name)) {
      notes.refuse(`${path}.name`, 'is not made of letters, digits, underscores and hyphens alone');
    }
    // Unlike in chat completions, the default of `strict` is true.
    const isStrict = strict ?? false;
    return { ...fn, type: 'function', parameters: schemaOf(parameters, isStrict, path, notes), strict: isStrict };
  });
}

/** The parameters' schema, restricted to an object. */
function schemaOf(parameters: Tool['function']['parameters'], isStrict: boolean, path: string, notes: Notes): Members {
  const schema: Members = parameters ?? {};
  if (Object.keys(schema).length === 0) {
    return { type: 'object', properties: {}, ...(isStrict && { additionalProperties: false }) };
  }
  const { type = 'object' } = schema;
  if (type !== 'object' && !(Array.isArray(type) && type.includes('object'))) {
    notes.refuse(`${path}.parameters`, 'are not those of an object');
  }
  if (isStrict && schema.additionalProperties !== false) {
    notes.refuse(`${path}.parameters`, 'are strict and have no `additionalProperties: false`');
  }
  return { ...schema, type: 'object' };
}
