import { isObject, type Json, listOf, parseJson, textOf } from '../../../plugins/providers/json.ts';
import { checkEffort, checkSampling, membersOf, refuse, textAt } from './openai-rules.ts';

/** The members of `ResponseCreateParamsBase` of openai 7.59.0, and `client_metadata`, which codex 0.169.0 sends. */
const KNOWN =
  'client_metadata access_programs background background_options context_management conversation image include input instructions max_output_tokens max_tool_calls metadata model moderation parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options temperature text tool_choice tools top_logprobs top_p truncation user';

/** Refuses every request that the Responses API refuses. */
export function checkResponses(body: Json): void {
  membersOf(body, '', KNOWN);
  const { model, max_output_tokens: max, reasoning, store, include } = body;
  if (typeof model !== 'string') refuse("Missing required parameter: 'model'.", 'model', 'missing_required_parameter');
  if (typeof max === 'number' && max < 16) {
    refuse(
      `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got ${max} instead.`,
      'max_output_tokens',
      'integer_below_min_value',
    );
  }
  if (reasoning != null) {
    const { effort } = membersOf(reasoning, 'reasoning', 'context effort generate_summary mode summary');
    checkEffort(model, effort, 'reasoning.effort', false);
  }
  checkSampling(body);
  checkTools(body);
  if (body.text != null) checkText(membersOf(body.text, 'text', 'format verbosity'));
  if (body.stream_options != null) membersOf(body.stream_options, 'stream_options', 'include_obfuscation');
  if (typeof body.input !== 'string') checkInput(itemsOf(body), store !== false);
  for (const one of listOf(include)) {
    if (one !== 'reasoning.encrypted_content') refuse(`Invalid value: '${one}'.`, 'include[0]', 'invalid_value');
  }
}

export const itemsOf = ({ input }: Json): readonly Json[] =>
  typeof input === 'string' ? [{ role: 'user', content: input }] : listOf(input).filter(isObject);

const TOOL = 'type name description parameters strict allowed_callers async defer_loading output_schema';

/** The members of tools that are not functions. */
const OTHER_TOOLS: Readonly<Record<string, string>> = {
  custom: 'type name description format allowed_callers async defer_loading',
  namespace: 'type name description tools',
  local_shell: 'type',
  web_search: 'type external_web_access filters search_content_types search_context_size user_location',
};

function checkTools({ tools, tool_choice: choice }: Json): void {
  const names = listOf(tools).map((tool, at) => {
    const path = `tools[${at}]`;
    const other = isObject(tool) ? OTHER_TOOLS[textOf(tool.type)] : undefined;
    if (other !== undefined) return membersOf(tool, path, other).name;
    const { type, parameters, strict, ...others } = membersOf(tool, path, TOOL);
    if (type !== 'function') refuse(`Invalid value: '${type}'.`, `${path}.type`, 'invalid_value');
    if (!isObject(parameters) || parameters.type !== 'object') {
      refuse(`Invalid schema for function: schema must be a JSON Schema of 'type: "object"'.`, `${path}.parameters`);
    }
    // In Responses, `strict` is true by default, and the schema must then be strict.
    if (strict !== false && parameters.additionalProperties !== false) {
      refuse(
        "Invalid schema for function: 'additionalProperties' is required to be supplied and to be false.",
        `${path}.parameters`,
        'invalid_function_parameters',
      );
    }
    const name = textAt(others, 'name', path);
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) {
      refuse(`Invalid '${path}.name': string does not match pattern.`, `${path}.name`, 'invalid_value');
    }
    return name;
  });
  if (isObject(choice) && choice.type === 'allowed_tools') checkAllowed(choice, listOf(tools));
  else if (isObject(choice)) {
    const { type, name } = membersOf(choice, 'tool_choice', 'type name');
    if ((type !== 'function' && type !== 'custom') || !names.includes(String(name))) {
      refuse(`Tool choice 'function' not found in 'tools' parameter.`, 'tool_choice');
    }
  } else if (choice != null && !['none', 'auto', 'required'].includes(String(choice))) {
    refuse(`Invalid value: '${choice}'.`, 'tool_choice', 'invalid_value');
  }
}

function checkAllowed(choice: Json, offered: readonly unknown[]): void {
  const { mode, tools } = membersOf(choice, 'tool_choice', 'type mode tools');
  if (mode !== 'auto' && mode !== 'required') refuse(`Invalid value: '${mode}'.`, 'tool_choice.mode', 'invalid_value');
  for (const [at, tool] of listOf(tools).entries()) {
    const { type, name } = Object(tool);
    const isOffered = offered.some((one) => Object(one).type === type && Object(one).name === name);
    if (!isOffered) refuse(`Tool choice '${type}' not found in 'tools' parameter.`, `tool_choice.tools[${at}]`);
  }
}

function checkText({ format, verbosity }: Json): void {
  if (verbosity != null && !['low', 'medium', 'high'].includes(String(verbosity))) {
    refuse(`Invalid value: '${verbosity}'.`, 'text.verbosity', 'invalid_value');
  }
  if (format === undefined) return;
  const { type, ...schema } = membersOf(format, 'text.format', 'type name schema description strict');
  if (type === 'json_schema') {
    textAt(schema, 'name', 'text.format');
    if (!isObject(schema.schema)) {
      refuse("Missing required parameter: 'text.format.schema'.", 'text.format.schema', 'missing_required_parameter');
    }
  } else if (type !== 'json_object' && type !== 'text') {
    refuse(`Invalid value: '${type}'.`, 'text.format.type', 'invalid_value');
  }
}

/** The members of each kind of item. */
const ITEMS: Readonly<Record<string, string>> = {
  message: 'type role content status phase id',
  function_call: 'type call_id name arguments id status async caller namespace',
  function_call_output: 'type call_id output id status caller name namespace',
  custom_tool_call: 'type call_id name input id status caller namespace',
  custom_tool_call_output: 'type call_id output id status caller namespace',
  local_shell_call: 'type id call_id action status',
  local_shell_call_output: 'type id output status',
  reasoning: 'type id summary content encrypted_content status',
};

function checkInput(items: readonly Json[], isStored: boolean): void {
  const calls = new Set<string>();
  const answered = new Set<string>();
  for (const [at, item] of items.entries()) {
    const path = `input[${at}]`;
    const type = textOf(item.type) || 'message';
    const known = ITEMS[type];
    if (known === undefined) refuse(`Invalid value: '${type}'.`, path, 'invalid_value');
    membersOf(item, path, known);
    // Sources of the limit: decolua/9router#393, openclaw/openclaw#137489.
    if (textOf(item.call_id).length > 64) {
      refuse(
        `Invalid '${path}.call_id': string too long. Expected a string with maximum length 64, but got a string with length ${textOf(item.call_id).length} instead.`,
        `${path}.call_id`,
        'string_above_max_length',
      );
    }
    if (type === 'message') checkMessage(item, path);
    else if (type.startsWith('local_shell')) textAt(item, 'id', path);
    else if (type === 'function_call' || type === 'custom_tool_call') {
      for (const name of ['name', type === 'function_call' ? 'arguments' : 'input']) textAt(item, name, path);
      if (calls.has(textAt(item, 'call_id', path))) refuse(`Duplicate function call ${item.call_id}.`, 'input');
      calls.add(textAt(item, 'call_id', path));
    } else if (type === 'function_call_output' || type === 'custom_tool_call_output') {
      const id = textAt(item, 'call_id', path);
      if (!calls.has(id)) refuse(`No tool call found for function call output with call_id ${id}.`, 'input');
      answered.add(id);
      checkContent(item.output, `${path}.output`, INPUT_PARTS);
    } else checkReasoning(item, items.slice(at + 1), path, isStored);
  }
  for (const id of calls) if (!answered.has(id)) refuse(`No tool output found for function call ${id}.`, 'input');
}

const INPUT_PARTS: Readonly<Record<string, string>> = {
  input_text: 'type text prompt_cache_breakpoint',
  input_image: 'type image_url detail file_id prompt_cache_breakpoint',
  input_file: 'type file_data file_id file_url filename detail prompt_cache_breakpoint',
};
const OUTPUT_PARTS: Readonly<Record<string, string>> = {
  output_text: 'type text annotations logprobs',
  refusal: 'type refusal',
};

function checkMessage({ role, content, phase }: Json, path: string): void {
  if (!['user', 'assistant', 'system', 'developer'].includes(String(role))) {
    refuse(`Invalid value: '${role}'.`, `${path}.role`, 'invalid_value');
  }
  if (phase != null && (role !== 'assistant' || !['commentary', 'final_answer'].includes(String(phase)))) {
    refuse(`Invalid value: '${phase}'.`, `${path}.phase`, 'invalid_value');
  }
  checkContent(content, `${path}.content`, role === 'assistant' ? OUTPUT_PARTS : INPUT_PARTS);
}

function checkContent(content: unknown, path: string, kinds: Readonly<Record<string, string>>): void {
  if (typeof content === 'string') return;
  if (!Array.isArray(content)) refuse(`Invalid type for '${path}'.`, path, 'invalid_type');
  for (const [at, part] of content.entries()) {
    const type = textOf(Object(part).type);
    const known = kinds[type];
    const supported = Object.keys(kinds).map((kind) => `'${kind}'`);
    if (known === undefined) {
      refuse(
        `Invalid value: '${type}'. Supported values are: ${supported.join(', ')}.`,
        `${path}[${at}]`,
        'invalid_value',
      );
    }
    membersOf(part, `${path}[${at}]`, known);
  }
}

/**
 * Makes the encrypted content of a reasoning item from its own content and the item after it. The fake later accepts the item only if both
 * are unchanged.
 */
export function encryptedOf(id: string, summary: readonly unknown[], next: Json | undefined): string {
  const words = { id, summary: digest(summary), next: digest(wordsOf(next)) };
  return Buffer.from(JSON.stringify({ ...words, seal: digest(words) })).toString('base64');
}

function checkReasoning(item: Json, rest: readonly Json[], path: string, isStored: boolean): void {
  const { id, summary, encrypted_content: encrypted } = item;
  if (!Array.isArray(summary)) {
    refuse(`Missing required parameter: '${path}.summary'.`, `${path}.summary`, 'missing_required_parameter');
  }
  if (typeof encrypted !== 'string') {
    const store = isStored ? '' : ' Items are not persisted when `store` is set to false.';
    refuse(`Item with id '${id}' not found.${store}`, 'input');
  }
  const { seal, ...words } = Object(parseJson(Buffer.from(encrypted, 'base64').toString()));
  if (seal !== digest(words) || words.summary !== digest(summary) || (id !== undefined && id !== words.id)) {
    refuse(`The encrypted content for item ${id} could not be verified.`, null, 'invalid_encrypted_content');
  }
  const next = rest.find(({ type }) => type !== 'reasoning');
  if (next === undefined || digest(wordsOf(next)) !== words.next) {
    refuse(`Item '${id}' of type 'reasoning' was provided without its required following item.`, 'input');
  }
}

/** Returns what identifies an item, whatever form it was sent in. */
function wordsOf(item: Json | undefined): unknown {
  if (item === undefined || item.type === 'function_call') return [item?.call_id, item?.name, item?.arguments];
  if (item.type === 'custom_tool_call') return [item.call_id, item.name, item.input];
  return [item.role, listOf(item.content).map((part) => [Object(part).text, Object(part).refusal])];
}

function digest(value: unknown): string {
  return new Bun.CryptoHasher('sha256').update(JSON.stringify(value)).digest('base64').slice(0, 16);
}
