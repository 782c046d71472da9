import { objectsIn } from '../../core/json/object.ts';
import type { Members } from '../../core/json/original.ts';
import { checkOffered, invalid, missing, refuseBilled, unsupported, withoutTools } from '../refusals.ts';
import { type AllowedTools, isAllowedTools, type ResponsesRequest } from './request.ts';

/**
 * Checks the dialect's rules that the schema cannot express: requests that need stored responses, and requests that cannot be priced.
 * @throws SignalboxError for the field at fault.
 */
export function checkResponses(request: ResponsesRequest): void {
  checkStateless(request);
  refuseBilled(request, REFUSED);
  checkChoice(request);
  if (!request.stream && Object.keys(request.stream_options ?? {}).length > 0) {
    throw invalid('stream_options', '`stream_options` requires `stream: true`.');
  }
}

const SEND_ALL =
  'Signalbox stores no responses. Set `store: false` in your client, so that it sends the whole conversation in `input`.';

/** Rejects references to data that only a server that stores responses could find. */
function checkStateless({ input, previous_response_id, conversation, background }: ResponsesRequest): void {
  if (previous_response_id != null) throw unsupported('previous_response_id', SEND_ALL);
  if (conversation != null) throw unsupported('conversation', SEND_ALL);
  if (background != null && background !== false) {
    throw unsupported(
      'background',
      `${SEND_ALL} Therefore \`background\` must be false: read the answer while it is sent.`,
    );
  }
  if (typeof input === 'string') return;
  const at = input.findIndex(({ type }: Members) => type === 'item_reference');
  if (at >= 0) throw unsupported(`input[${at}]`, `\`input[${at}]\` refers to a stored item. ${SEND_ALL}`);
}

/** Fields that no price of the catalog could cover, whichever fund pays. */
const REFUSED: Readonly<Record<string, string>> = {
  prompt: 'A template of the provider has an unknown size. Send its text as `instructions` and `input`.',
  image: 'Image output is not supported.',
  modalities: 'Only text output is supported.',
  audio: 'Audio output is not supported.',
};

function checkChoice({ tools = [], input, tool_choice: choice }: ResponsesRequest): void {
  if (choice === undefined || choice === 'none' || choice === 'auto') return;
  if (isAllowedTools(choice)) {
    checkAllowed(choice, [...tools, ...toolsOfInput(input)]);
    return;
  }
  if (tools.length === 0) throw withoutTools();
  if (typeof choice === 'string' || (choice.type !== 'function' && choice.type !== 'custom')) return;
  checkNamed(choice, namesOf(tools), 'tool_choice');
}

/** Returns the tools that items of the input add. */
const toolsOfInput = (input: ResponsesRequest['input']): readonly Members[] =>
  typeof input === 'string' ? [] : input.flatMap((item) => ('tools' in item ? objectsIn(item.tools) : []));

const withinNamespace = (tool: Members): readonly Members[] =>
  Array.isArray(tool.tools) ? objectsIn(tool.tools) : [tool];

/** Returns the names of tools, including the tools in namespaces. */
const namesOf = (tools: readonly Members[]): ReadonlySet<unknown> =>
  new Set(tools.flatMap(withinNamespace).map(({ name }) => name));

/** Checks that the request offers the allowed tools. @param offered the tools of the request */
function checkAllowed({ tools }: AllowedTools, offered: readonly Members[]): void {
  const names = namesOf(offered);
  const namespaces = new Set(offered.filter(({ type }) => type === 'namespace').map(({ name }) => name));
  const types = new Set(offered.flatMap((tool) => [tool, ...withinNamespace(tool)]).map(({ type }) => type));
  for (const [at, tool] of tools.entries()) {
    const path = `tool_choice.tools[${at}]`;
    if (tool.type === 'function' || tool.type === 'custom') checkNamed(tool, names, path);
    else if (tool.type === 'namespace') checkNamed(tool, namespaces, path);
    else if (!types.has(tool.type))
      throw invalid(`${path}.type`, `\`tools\` has no tool of the type \`${tool.type.slice(0, 64)}\`.`);
  }
}

/** Checks that a tool choice names an offered tool. */
function checkNamed({ name }: Members, offered: ReadonlySet<unknown>, path: string): void {
  if (typeof name !== 'string') throw missing(`${path}.name`, `\`${path}.name\` is required.`);
  checkOffered(name, offered, `${path}.name`);
}
