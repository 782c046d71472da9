import { NO_EXTRAS } from '../../core/api/extras.ts';
import type { ToolChoice, ToolDefinition } from '../../core/request/conversation.ts';
import { jsonSchemaOf } from './open-api-schema.ts';
import type { Declaration, GenerateRequest } from './request.ts';

type ToolFields = Pick<GenerateRequest, 'tools' | 'toolConfig'>;

/** Returns the allowed functions of a calling mode; null if all are allowed. */
const allowedIn = ({ toolConfig }: ToolFields): ReadonlySet<string> | null => {
  const { allowedFunctionNames: names } = toolConfig?.functionCallingConfig ?? {};
  return names && names.length > 0 ? new Set(names) : null;
};

/**
 * Returns the functions that may be called. The gateway does not send other functions, because not every provider can be told to ignore
 * some functions.
 */
export function toolsOf(body: ToolFields): readonly ToolDefinition[] {
  // A single function that must be called is named in the choice instead.
  const allowed = typeof choiceOf(body) === 'object' ? null : allowedIn(body);
  return (body.tools ?? []).flatMap(({ functionDeclarations = [] }, i) =>
    functionDeclarations.flatMap((declaration, n) => {
      if (allowed && !allowed.has(declaration.name)) return [];
      const at = ['tools', i, 'functionDeclarations', n];
      return [toolOf(declaration, at)];
    }),
  );
}

function toolOf(declaration: Declaration, at: ToolDefinition['at']): ToolDefinition {
  const { name, description, parameters, parametersJsonSchema } = declaration;
  const schema = parametersJsonSchema ?? parameters;
  return {
    name,
    ...(description !== undefined && { description }),
    ...(schema && { parameters: jsonSchemaOf(schema) }),
    extras: NO_EXTRAS,
    at,
    valueAt: at,
  };
}

/** Reads the calling mode. */
export function choiceOf(body: ToolFields): ToolChoice | undefined {
  const { mode = 'AUTO' } = body.toolConfig?.functionCallingConfig ?? {};
  if (mode === 'NONE') return 'none';
  if (mode !== 'ANY') return undefined;
  const [only, ...others] = allowedIn(body) ?? [];
  return only !== undefined && others.length === 0 ? { name: only } : 'required';
}
