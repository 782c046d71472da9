import { SignalboxError } from '../../core/errors.ts';
import { isObject } from '../../core/object.ts';
import type { Members } from '../../core/original.ts';
import type { ResponsesRequest } from './request.ts';

/**
 * Checks the rules of the dialect that its schema cannot state: what would need a store of responses, and what would
 * change the bill unseen.
 * @throws SignalboxError for the field at fault.
 */
export function checkResponses(request: ResponsesRequest): void {
  checkStateless(request);
  checkBill(request);
  for (const [index, tool] of (request.tools ?? []).entries()) checkTool(tool, `tools[${index}]`);
  checkChoice(request);
  if (!request.stream && Object.keys(request.stream_options ?? {}).length > 0) {
    throw invalid('stream_options', '`stream_options` requires `stream: true`.');
  }
}

const unsupported = (param: string, message: string) => new SignalboxError('unsupported_parameter', message, { param });
const invalid = (param: string, message: string) => new SignalboxError('invalid_value', message, { param });

const SEND_ALL =
  'Signalbox stores no responses. Set `store: false` in your client, so that it sends the whole conversation in `input`.';

/** Refuses references to what only a service that stores responses could find. */
function checkStateless({ input, ...body }: ResponsesRequest): void {
  if (body.previous_response_id != null) throw unsupported('previous_response_id', SEND_ALL);
  if (body.conversation != null) throw unsupported('conversation', SEND_ALL);
  if (body.background != null && body.background !== false) {
    throw unsupported('background', `${SEND_ALL} So \`background\` must be false: read the answer as it comes.`);
  }
  if (typeof input === 'string') return;
  const at = input.findIndex(({ type }) => type === 'item_reference');
  if (at >= 0) throw unsupported(`input[${at}]`, `\`input[${at}]\` names a stored item. ${SEND_ALL}`);
}

const isDefaultTier = (tier: unknown): boolean => tier == null || tier === 'auto' || tier === 'default';

/** Fields that are billed beyond tokens, or by other prices: no reservation could cover them. */
const BILLED: ReadonlyMap<string, string> = new Map([
  ['prompt', 'A template of the provider has an unknown size. Send its text as `instructions` and `input`.'],
  ['context_management', 'Compaction by the provider is billed beyond `max_output_tokens`.'],
  ['image', 'Image output is not supported.'],
  ['modalities', 'Only text output is supported.'],
  ['audio', 'Audio output is not supported.'],
  ['prompt_cache_options', 'Lifetimes of cached prompts have other prices and are not supported.'],
]);

function checkBill(request: Members): void {
  if (!isDefaultTier(request.service_tier)) {
    throw unsupported('service_tier', 'Service tiers have other prices and are not supported. Omit `service_tier`.');
  }
  for (const [field, why] of BILLED) if (request[field] != null) throw unsupported(field, why);
}

/** Tools that the provider runs: each use is billed, or brings tokens into the prompt that nobody has counted. */
const OF_PROVIDER = /^(?:web_search|file_search|code_interpreter|image_generation|mcp|programmatic_tool_calling)/;

function checkTool(tool: Members & { readonly type: string }, at: string): void {
  const { type, environment, execution, tools } = tool;
  const isOfProvider =
    OF_PROVIDER.test(type) ||
    (type === 'shell' && !(isObject(environment) && environment.type === 'local')) ||
    (type === 'tool_search' && execution !== 'client');
  if (isOfProvider) {
    throw unsupported(
      `${at}.type`,
      `A tool of the type \`${type.slice(0, 64)}\` is run and billed by the provider, and is not supported.`,
    );
  }
  if (type !== 'namespace' || !Array.isArray(tools)) return;
  for (const [index, one] of tools.entries()) {
    if (isObject(one) && typeof one.type === 'string') checkTool({ ...one, type: one.type }, `${at}.tools[${index}]`);
  }
}

function checkChoice({ tools = [], tool_choice: choice }: ResponsesRequest): void {
  if (choice === undefined || choice === 'none' || choice === 'auto') return;
  if (tools.length === 0) throw invalid('tool_choice', '`tool_choice` requires `tools`.');
  if (typeof choice === 'string' || (choice.type !== 'function' && choice.type !== 'custom')) return;
  const { name }: Members = choice;
  const offered = tools.flatMap((tool): readonly Members[] =>
    'tools' in tool && Array.isArray(tool.tools) ? tool.tools : [tool],
  );
  if (typeof name !== 'string')
    throw new SignalboxError('missing_field', '`tool_choice.name` is required.', { param: 'tool_choice.name' });
  if (!offered.some((tool) => tool.name === name)) {
    throw invalid('tool_choice.name', `\`tools\` has no tool \`${name.slice(0, 64)}\`.`);
  }
}
