import { isObject, type Json, listOf } from '../../../plugins/providers/json.ts';
import type { Claude } from './claude.ts';
import { Refusal } from './dialect.ts';

/** Refuses a request as Anthropic does, which names the location by indexes: `messages.1.content.0.text`. */
export function refuse(message: string): never {
  throw new Refusal(message, { status: 400, body: { message } });
}

/** Returns the members of an object; refuses members that the API does not know. */
export function membersOf(value: unknown, path: string, known: string): Json {
  if (!isObject(value)) refuse(`${path}: Input should be an object`);
  const names = known.split(' ');
  const extra = Object.keys(value).find((name) => !names.includes(name));
  if (extra !== undefined) refuse(`${path === '' ? '' : `${path}.`}${extra}: Extra inputs are not permitted`);
  return value;
}

/** The members of `MessageCreateParamsBase`, and those that only older models accept and that the SDK's types no longer name. */
const KNOWN =
  'model max_tokens messages system stream stop_sequences tools tool_choice thinking output_config metadata service_tier speed cache_control container diagnostics inference_geo temperature top_p top_k';

/** Checks all members of a request except its messages. */
export function checkOptions(body: Json, claude: Claude): void {
  membersOf(body, '', KNOWN);
  const { model, max_tokens: max, stream, stop_sequences: stops, metadata, service_tier: tier } = body;
  if (typeof model !== 'string') refuse('model: Field required');
  if (max === undefined) refuse('max_tokens: Field required');
  if (!Number.isInteger(max) || Number(max) < 0) refuse('max_tokens: Input should be a valid integer');
  if (Number(max) > claude.outputMax) {
    refuse(
      `max_tokens: ${max} > ${claude.outputMax}, which is the maximum allowed number of output tokens for ${model}`,
    );
  }
  if (stream !== undefined && typeof stream !== 'boolean') refuse('stream: Input should be a valid boolean');
  if (stops !== undefined && !Array.isArray(stops)) refuse('stop_sequences: Input should be a valid array');
  for (const stop of listOf(stops)) {
    if (typeof stop !== 'string') refuse('stop_sequences.0: Input should be a valid string');
    if (stop.trim() === '') refuse('stop_sequences: each stop sequence must contain non-whitespace');
  }
  if (metadata !== undefined) membersOf(metadata, 'metadata', 'user_id');
  if (tier !== undefined && tier !== 'auto' && tier !== 'standard_only') {
    refuse("service_tier: Input should be 'auto' or 'standard_only'");
  }
  checkTools(body, claude);
  checkThinking(body, claude);
  checkSampling(body, claude);
}

const TOOL =
  'name input_schema description type strict cache_control allowed_callers defer_loading eager_input_streaming input_examples';
/** Members of the SDK's type `WebSearchTool20250305`. */
const SEARCH = 'type name max_uses allowed_domains blocked_domains user_location cache_control';
const COMBINED = ['oneOf', 'allOf', 'anyOf'];

function checkTools({ tools, tool_choice: choice }: Json, claude: Claude): void {
  if (tools !== undefined && !Array.isArray(tools)) refuse('tools: Input should be a valid array');
  const names = listOf(tools).map((value, at) => {
    const path = `tools.${at}.custom`;
    if (/^web_search_\d{8}$/.test(String(Object(value).type))) return String(membersOf(value, path, SEARCH).name);
    const { name, type = 'custom', input_schema: schema, description, strict } = membersOf(value, path, TOOL);
    if (type !== 'custom') refuse(`tools.${at}: Input tag '${type}' found using 'type' does not match any of the tags`);
    if (typeof name !== 'string') refuse(`${path}.name: Field required`);
    if (name.length > 128) refuse(`${path}.name: String should have at most 128 characters`);
    if (!/^[a-zA-Z0-9_-]+$/.test(name)) {
      refuse(`${path}.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`);
    }
    if (description !== undefined && typeof description !== 'string') {
      refuse(`${path}.description: Input should be a valid string`);
    }
    if (!isObject(schema)) refuse(`${path}.input_schema: Field required`);
    if (schema.type !== 'object') refuse(`${path}.input_schema.type: Input should be 'object'`);
    if (COMBINED.some((word) => word in schema)) {
      refuse(`${path}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`);
    }
    if (strict === true) checkSchema(schema, path);
    return name;
  });
  if (new Set(names).size < names.length) refuse('tools: Tool names must be unique.');
  if (choice !== undefined) checkChoice(choice, names, claude);
}

function checkChoice(choice: unknown, names: readonly string[], claude: Claude): void {
  const { type } = Object(choice);
  if (!['auto', 'any', 'tool', 'none'].includes(type)) {
    refuse(`tool_choice: Input tag '${type}' found using 'type' does not match any of the expected tags`);
  }
  const own = type === 'none' ? 'type' : `type disable_parallel_tool_use${type === 'tool' ? ' name' : ''}`;
  const { name } = membersOf(choice, `tool_choice.${type}`, own);
  if (names.length === 0) refuse('tool_choice: tool_choice may only be specified while providing tools');
  if (type === 'tool' && !names.includes(String(name))) refuse(`Tool '${name}' not found in provided tools`);
  if (claude.refusesForcedTools && isForced(choice)) {
    refuse(`tool_choice: type '${type}' is not supported on this model. Use 'auto' or 'none'.`);
  }
}

const isForced = (choice: unknown): boolean => ['any', 'tool'].includes(Object(choice).type);

function checkThinking({ thinking, tool_choice, max_tokens, output_config }: Json, claude: Claude): void {
  const known = 'effort format';
  const { effort, format } = output_config === undefined ? {} : membersOf(output_config, 'output_config', known);
  if (effort !== undefined && effort !== null && !claude.efforts.includes(String(effort))) {
    refuse(claude.efforts.length === 0 ? 'This model does not support the effort parameter.' : 'output_config.effort');
  }
  if (format !== undefined && format !== null) {
    const { type, schema } = membersOf(format, 'output_config.format', 'type schema');
    if (type !== 'json_schema') refuse("output_config.format.type: Input should be 'json_schema'");
    checkSchema(schema, 'output_config.format.schema');
  }
  if (thinking === undefined) return;
  const { type } = Object(thinking);
  if (!['adaptive', 'enabled', 'disabled', 'between_tools'].includes(type)) {
    refuse(`thinking: Input tag '${type}' found using 'type' does not match any of the expected tags`);
  }
  if (!claude.thinking.includes(type)) {
    refuse(
      type === 'adaptive'
        ? 'adaptive thinking is not supported on this model'
        : `"thinking.type.${type}" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`,
    );
  }
  const own = { adaptive: 'type display', enabled: 'type budget_tokens display' }[String(type)] ?? 'type';
  const { budget_tokens: budget, display } = membersOf(thinking, `thinking.${type}`, own);
  if (![undefined, null, 'summarized', 'omitted'].includes(display as string)) refuse(`thinking.${type}.display`);
  if (type === 'enabled') {
    if (!Number.isInteger(budget) || Number(budget) < 1024) {
      refuse('thinking.enabled.budget_tokens: Input should be greater than or equal to 1024');
    }
    if (Number(budget) >= Number(max_tokens)) refuse('`max_tokens` must be greater than `thinking.budget_tokens`.');
  }
  if ((type === 'enabled' || type === 'adaptive') && isForced(tool_choice)) {
    refuse('Thinking may not be enabled when tool_choice forces tool use.');
  }
  if (type !== 'adaptive' && type !== 'enabled' && claude.stillUpToHigh && /^(xhigh|max)$/.test(String(effort))) {
    refuse(`thinking: type '${type}' is not supported at effort '${effort}'`);
  }
}

/** Source of these rules: the section on sampling in build-with-claude/thinking. */
function checkSampling({ temperature, top_p, top_k, thinking }: Json, claude: Claude): void {
  if (temperature !== undefined && !(Number(temperature) >= 0 && Number(temperature) <= 1)) {
    refuse('temperature: range: 0..1');
  }
  if (top_p !== undefined && !(Number(top_p) >= 0 && Number(top_p) <= 1)) refuse('top_p: range: 0..1');
  if (claude.refusesSampling) {
    if (temperature !== undefined && temperature !== 1) refuse('`temperature` is deprecated for this model.');
    if (top_p !== undefined && top_p !== 0.99) refuse('`top_p` is deprecated for this model.');
    if (top_k !== undefined) refuse('`top_k` is deprecated for this model.');
  }
  if (temperature !== undefined && top_p !== undefined) {
    refuse('`temperature` and `top_p` cannot both be specified for this model. Please use only one.');
  }
  if (!['adaptive', 'enabled'].includes(Object(thinking).type)) return;
  if (temperature !== undefined && temperature !== 1) {
    refuse('`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.');
  }
  if (top_p !== undefined && Number(top_p) < 0.95) {
    refuse('`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.');
  }
  if (top_k !== undefined) refuse('`top_k` must be unset when thinking is enabled.');
}

/** JSON Schema keywords that a strict schema must not have. Source: `sanitizeJsonSchema` of @ai-sdk/anthropic. */
const UNBOUND =
  'minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern minItems maxItems uniqueItems minProperties maxProperties not oneOf';

function checkSchema(value: unknown, path: string): void {
  if (!isObject(value)) refuse(`${path}: Input should be an object`);
  const { type, properties, items, anyOf, allOf, $defs, definitions } = value;
  const unbound = UNBOUND.split(' ').find((word) => word in value);
  if (unbound !== undefined) refuse(`${path}: For '${type}' type, property '${unbound}' is not supported`);
  if ((type === 'object' || properties !== undefined) && value.additionalProperties !== false) {
    refuse(`${path}: For 'object' type, 'additionalProperties' must be explicitly set to false`);
  }
  const inner = [properties, $defs, definitions].flatMap((named) => Object.values(Object(named)));
  const alternatives = [...listOf(anyOf), ...listOf(allOf), ...(isObject(items) ? [items] : listOf(items))];
  for (const schema of [...inner, ...alternatives]) checkSchema(schema, path);
}
