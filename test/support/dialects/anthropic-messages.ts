import { isObject, type Json, listOf, textOf } from '../../../plugins/providers/json.ts';
import { membersOf, refuse } from './anthropic-options.ts';
import { forgeryOf, type Message, messagesOf } from './anthropic-thinking.ts';
import type { Claude } from './claude.ts';

/**
 * The rules for `messages` and `system`. Sources of the error texts: the parameter types of messages.d.ts; the pages
 * tool-use/handle-tool-calls (order of results), build-with-claude/extended-thinking (thinking before tool use) and api/errors of
 * platform.claude.com/docs; the errors quoted in issues of anthropics/claude-code.
 */
export function checkMessages(body: Json, claude: Claude): void {
  const { system, messages } = body;
  if (system !== undefined && typeof system !== 'string') checkBlocks(system, 'system', 'system');
  if (!Array.isArray(messages)) refuse('messages: Field required');
  const given = listOf(messages);
  if (given.length === 0) refuse('messages: at least one message is required');
  for (const [at, message] of given.entries()) {
    const { role, content } = membersOf(message, `messages.${at}`, 'role content');
    if (role !== 'user' && role !== 'assistant' && role !== 'system') {
      refuse(`messages: Unexpected role "${role}". Allowed roles are "user" or "assistant"`);
    }
    if (role === 'system') checkSystemMessage(given, at, claude);
    const isLast = at === given.length - 1 && role === 'assistant';
    if (content === '' || (Array.isArray(content) && content.length === 0)) {
      if (!isLast) {
        refuse(
          `messages.${at}: all messages must have non-empty content except for the optional final assistant message`,
        );
      }
    } else if (typeof content === 'string') {
      if (content.trim() === '') refuse('messages: text content blocks must contain non-whitespace text');
    } else checkBlocks(content, `messages.${at}.content`, role);
  }
  checkCacheMarks(body);
  const merged = messagesOf(body);
  checkEnd(merged, claude);
  checkToolUse(merged);
  checkThinkingBlocks(body, merged);
}

/**
 * Checks where a system message may be placed. Sources: build-with-claude/mid-conversation-system-messages and pydantic/pydantic-ai#6765.
 */
function checkSystemMessage(messages: readonly unknown[], at: number, claude: Claude): void {
  if (!claude.takesSystemMessages) refuse(`messages.${at}: role 'system' is not supported on this model`);
  if (Object(messages[at - 1]).role !== 'user') {
    refuse(`messages.${at}: a 'system' message must immediately follow a 'user' message`);
  }
  const { role = 'assistant' } = Object(messages[at + 1]);
  if (role !== 'assistant') {
    refuse(`messages.${at}: a 'system' message must be the last message or be followed by an 'assistant' message`);
  }
}

/** The members that each type of block may have, and the roles of the messages that may contain it. */
const BLOCKS: Readonly<Record<string, { readonly known: string; readonly roles: string }>> = {
  text: { known: 'type text cache_control citations', roles: 'user assistant system' },
  image: { known: 'type source cache_control transformations', roles: 'user' },
  document: { known: 'type source cache_control citations context title', roles: 'user' },
  thinking: { known: 'type thinking signature', roles: 'assistant' },
  redacted_thinking: { known: 'type data', roles: 'assistant' },
  tool_use: { known: 'type id name input cache_control caller toolset_name', roles: 'assistant' },
  tool_result: { known: 'type tool_use_id content is_error cache_control toolset_name', roles: 'user' },
};

function checkBlocks(value: unknown, path: string, role: string): void {
  if (!Array.isArray(value)) refuse(`${path}: Input should be a valid array`);
  for (const [at, given] of listOf(value).entries()) {
    const type = String(Object(given).type);
    const rules = BLOCKS[type];
    if (rules === undefined) {
      refuse(`${path}.${at}: Input tag '${type}' found using 'type' does not match any of the expected tags`);
    }
    const block = membersOf(given, `${path}.${at}.${type}`, rules.known);
    if (!rules.roles.split(' ').includes(role)) {
      refuse(`${path}.${at}: \`${type}\` blocks can only be in \`${rules.roles}\` messages`);
    }
    checkBlock(block, `${path}.${at}.${type}`);
  }
}

function checkBlock(block: Json, path: string): void {
  const { type, text, source, id, name, input, content, cache_control: mark } = block;
  if (mark !== undefined && mark !== null) {
    const { type, ttl } = membersOf(mark, `${path}.cache_control`, 'type ttl');
    if (type !== 'ephemeral') refuse(`${path}.cache_control.type: Input should be 'ephemeral'`);
    if (ttl !== undefined && ttl !== '5m' && ttl !== '1h') refuse(`${path}.cache_control.ttl: '5m' or '1h'`);
  }
  if (type === 'text') {
    if (typeof text !== 'string') refuse(`${path}.text: Input should be a valid string`);
    if (text === '') refuse('messages: text content blocks must be non-empty');
    if (textOf(text).trim() === '') refuse('messages: text content blocks must contain non-whitespace text');
  }
  if (type === 'image' || type === 'document') checkSource(source, String(type), `${path}.source`);
  if (type === 'tool_use') {
    if (!/^[a-zA-Z0-9_-]+$/.test(textOf(id))) {
      refuse(`${path}.id: String should match pattern '^[a-zA-Z0-9_-]+$'`);
    }
    if (!/^[a-zA-Z0-9_-]{1,200}$/.test(textOf(name))) refuse(`${path}.name: String should match pattern`);
    if (!isObject(input)) refuse(`${path}.input: Input should be a valid dictionary`);
  }
  if (type === 'tool_result' && content !== undefined && typeof content !== 'string') {
    checkBlocks(content, `${path}.content`, 'user');
  }
}

const IMAGES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

function checkSource(value: unknown, owner: string, path: string): void {
  const { type } = Object(value);
  const known = { base64: 'type media_type data', text: 'type media_type data', url: 'type url', file: 'type file_id' };
  const own = Object(known)[type];
  if (own === undefined || (type === 'text' && owner === 'image')) {
    refuse(`${path}: Input tag '${type}' found using 'type' does not match any of the expected tags`);
  }
  const { media_type: media, data, url } = membersOf(value, `${path}.${type}`, own);
  if (type === 'url' && !/^https:\/\//.test(textOf(url))) refuse(`${path}.url: Only HTTPS URLs are supported.`);
  if (type === 'text' && media !== 'text/plain') refuse(`${path}.text.media_type: Input should be 'text/plain'`);
  if (type !== 'base64') return;
  const allowed = owner === 'image' ? IMAGES : ['application/pdf'];
  if (!allowed.includes(textOf(media))) {
    refuse(`${path}.base64.media_type: Input should be ${allowed.map((each) => `'${each}'`).join(' or ')}`);
  }
  if (!BASE64.test(textOf(data))) refuse(`${path}.base64: invalid base64 data`);
}

function checkCacheMarks(body: Json): void {
  let marks = 0;
  JSON.stringify(body, (name, value) => {
    if (name === 'cache_control' && isObject(value)) marks++;
    // The search for marks skips the contents of schemas and inputs.
    return name === 'input' || name === 'input_schema' || name === 'schema' ? undefined : value;
  });
  if (marks > 4) refuse(`A maximum of 4 blocks with cache_control may be provided. Found ${marks}.`);
}

function checkEnd(messages: readonly Message[], claude: Claude): void {
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return;
  if (claude.refusesPrefill) {
    refuse('This model does not support assistant message prefill. The conversation must end with a user message.');
  }
  if (/\s$/.test(textOf(last.blocks.at(-1)?.text))) {
    refuse('messages: final assistant content cannot end with trailing whitespace');
  }
}

/** The message after a tool call must answer every call. The results of the calls come first and answer only these calls. */
function checkToolUse(messages: readonly Message[]): void {
  const seen = new Set<unknown>();
  for (const [at, { role, blocks }] of messages.entries()) {
    const calls = role === 'assistant' ? idsOf(blocks, 'tool_use', 'id') : [];
    for (const id of calls) {
      if (seen.has(id)) refuse('messages: `tool_use` ids must be unique');
      seen.add(id);
    }
    const next = messages[at + 1];
    const first = next?.blocks.findIndex(({ type }) => type !== 'tool_result') ?? 0;
    const leading = idsOf(next?.blocks.slice(0, first < 0 ? undefined : first) ?? [], 'tool_result', 'tool_use_id');
    const open = calls.filter((id) => !leading.includes(id));
    if (open.length > 0) {
      refuse(
        `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
      );
    }
    if (new Set(leading).size < leading.length) {
      refuse(`messages.${at + 1}: each tool_use must have a single result. Found multiple \`tool_result\` blocks`);
    }
    const before = idsOf(messages[at - 1]?.blocks ?? [], 'tool_use', 'id');
    const stray = idsOf(blocks, 'tool_result', 'tool_use_id').find((id) => !before.includes(id));
    if (stray !== undefined) {
      refuse(
        `messages.${at}.content.0: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      );
    }
  }
}

function idsOf(blocks: readonly Json[], type: string, member: string): readonly unknown[] {
  return blocks.filter((block) => block.type === type).map((block) => block[member]);
}

const THINKS = ['thinking', 'redacted_thinking'];

function checkThinkingBlocks(body: Json, messages: readonly Message[]): void {
  for (const [at, { blocks }] of messages.entries()) {
    for (const [index, block] of blocks.entries()) {
      const forgery = block.type === 'thinking' ? forgeryOf(body, at, block) : null;
      if (forgery !== null) refuse(`messages.${at}.content.${index}: ${forgery}`);
      // This fake never redacts, so it has not issued any redacted block.
      if (block.type === 'redacted_thinking') {
        refuse(`messages.${at}.content.${index}: Invalid \`data\` in \`redacted_thinking\` block`);
      }
    }
    if (THINKS.includes(String(blocks.at(-1)?.type))) {
      refuse(`messages.${at}: The final block in an assistant message cannot be \`thinking\`.`);
    }
  }
  // While a turn with tools is in progress, the last assistant message must begin with a thinking block.
  const last = messages.at(-2);
  const isAmid = messages.at(-1)?.blocks[0]?.type === 'tool_result';
  const first = String(last?.blocks[0]?.type);
  if (Object(body.thinking).type === 'enabled' && isAmid && !THINKS.includes(first)) {
    refuse(
      `messages.${messages.length - 2}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`,
    );
  }
}
