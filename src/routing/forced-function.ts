import { FIELD_NAMES } from '../contract/field-names.ts';
import { isObject } from '../core/json/object.ts';
import { type Edit, pathText } from '../core/json/original.ts';
import type { Endpoint, GatewayPolicy } from '../core/policy/snapshot.ts';
import { CAPABILITIES, getsSchemaInstead, SCHEMA_INSTEAD } from '../core/request/capability.ts';
import type { Conversation, ToolDefinition, Turn } from '../core/request/conversation.ts';
import type { ModelRequest, NamedSchema } from '../core/request/model-request.ts';
import { structuredSchema } from '../core/schema/structured.ts';

/** The reason why a forced call cannot be requested as an answer in a JSON schema, as a clause for an error. */
interface NoForcedFunction {
  readonly why: string;
}

/**
 * Finds the function that a request forces the model to call, for a model that rejects `tool_choice`. Signalbox can then send the
 * function's parameters as the schema of the answer and return the answer as the call.
 * @returns the function, or the reason why the request needs a real tool call
 */
export function forcedFunction(request: ModelRequest): NamedSchema | NoForcedFunction {
  const { conversation, settings, names } = request;
  const [tool, ...others] = callable(conversation);
  const { nativeTools = [], thread, isWarmUp, turns } = conversation;
  if (!tool || others.length > 0 || nativeTools.length > 0)
    return { why: `\`${names.toolChoice}\` does not force one function` };
  if (turns.some(isCall)) return { why: 'the conversation has an earlier tool call' };
  if (thread || isWarmUp || turns.at(-1)?.role === 'assistant')
    return { why: 'the request continues an answer or a thread' };
  const { answerFormat } = settings;
  if (answerFormat && answerFormat.type !== 'text') return { why: `\`${names.answerFormat}\` is set` };
  return inSchema(tool);
}

/** Returns the tools that `tool_choice` allows. */
const callable = ({ tools, toolChoice: choice }: Conversation): readonly ToolDefinition[] =>
  typeof choice === 'object' ? tools.filter(({ name }) => name === choice.name) : tools;

/** Whether a turn contains a tool call or a tool result. For other parts of an answer, only the dialect knows whether they are calls. */
const isCall = ({ role, parts }: Turn): boolean =>
  role === 'tool' || parts.some(({ type }) => type === 'tool-call' || (type === 'native' && role === 'assistant'));

/** Schema keywords that allow the arguments to be something other than one object with the named members. */
const COMBINED = ['anyOf', 'oneOf', 'allOf', '$ref'] as const;

function inSchema({
  name,
  description,
  parameters = {},
  strict,
  valueAt,
}: ToolDefinition): NamedSchema | NoForcedFunction {
  const place = `\`${pathText(valueAt)}\``;
  const combined = COMBINED.find((keyword) => keyword in parameters);
  if (combined) return { why: `the schema of ${place} has \`${combined}\` at the top` };
  const result = structuredSchema({ ...(description !== undefined && { description }), ...parameters, type: 'object' });
  if ('why' in result) return { why: `the schema of ${place} ${result.why}` };
  return { name, schema: result.schema, ...(strict !== undefined && { strict }) };
}

/**
 * Returns the bit of `needs` that allows a model to answer in a schema instead of a forced call; 0 if the policy or the request does not
 * allow that.
 */
export function schemaInstead(request: ModelRequest, needs: number, { forcedTools }: GatewayPolicy): number {
  if (forcedTools !== 'adapt' || (needs & CAPABILITIES.forced_tools.bit) === 0) return 0;
  return 'schema' in forcedFunction(request) ? SCHEMA_INSTEAD : 0;
}

const ADAPTED: readonly string[] = Object.freeze([FIELD_NAMES.toolChoice]);

/**
 * Returns the fields of a request with these needs that reach an endpoint in another form; an empty list for none. All dialects use the
 * same names for these fields.
 */
export const adaptedFields = (needs: number, { capabilities }: Endpoint): readonly string[] | null =>
  getsSchemaInstead(needs, capabilities) ? ADAPTED : null;

/**
 * Returns a request for the function's arguments as the answer. The new request omits stop sequences, which end text but never end the
 * arguments of a call.
 */
export function withSchemaInstead(request: ModelRequest, forced: NamedSchema): ModelRequest {
  const { names } = request;
  const formatAt = names.answerFormat.split('.');
  const edits: Edit[] = [names.tools, names.toolChoice, names.parallelToolCalls, names.stop].map((name) => ({
    at: name.split('.'),
    value: undefined,
  }));
  return request.edit([...edits, ...placed(request, formatAt, request.answerFormatOf(forced))]);
}

/**
 * Returns the edit that sets a member. `placed` also creates the object that contains the member if the original lacks that object or has
 * null there.
 */
function placed(request: ModelRequest, at: readonly string[], value: unknown): Edit[] {
  const [first, second] = at;
  const isThere = second === undefined || isObject(request.originalAt(at.slice(0, 1)));
  return isThere ? [{ at, value }] : [{ at: [first!], value: { [second]: value } }];
}
