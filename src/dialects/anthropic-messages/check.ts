import { SignalboxError } from '../../core/errors.ts';
import { ListTotal } from '../../core/json/list-memory.ts';
import { type OriginalPath, pathText } from '../../core/json/original.ts';
import { isUseLimit, USES_MAX } from '../../core/money/add-ons.ts';
import { checkOffered, invalid, unsupported, withoutTools } from '../refusals.ts';
import type { MessagesRequest } from './request.ts';

/** The fields of a message request or a token count that are checked in addition to the schema. */
type CheckedFields = Pick<MessagesRequest, 'messages' | 'system' | 'tools' | 'tool_choice' | 'cache_control'> &
  Partial<Pick<MessagesRequest, 'thread'>>;

/**
 * Checks rules that the schema cannot express: fields that contradict each other, and content that no gateway could price or pass on.
 * @throws SignalboxError for the field at fault.
 */
export function checkMessages(body: CheckedFields): void {
  if (body.messages.length === 0 && body.thread?.type !== 'continue')
    throw invalid('messages', '`messages` must have at least 1 item.');
  checkMark(body, []);
  if (Array.isArray(body.system)) checkBlocks(body.system, ['system']);
  checkedLists.of(body.messages, (_, { content }, i) => {
    if (typeof content !== 'string') checkBlocks(content, ['messages', i, 'content']);
    return null;
  });
  checkTools(body);
}

/** Lists of messages that were checked before. */
const checkedLists = new ListTotal<CheckedFields['messages'][number], null>(() => null);

function checkTools({ tools, tool_choice: choice, thread }: CheckedFields): void {
  tools?.forEach((tool, i) => {
    checkMark(tool, ['tools', i]);
    checkUses(tool, i);
  });
  // The tools of a thread are stored with its history at the provider, so the request need not contain them.
  if (choice == null || choice.type === 'auto' || choice.type === 'none' || thread?.type === 'continue') return;
  if (!tools?.length) throw withoutTools();
  if (choice.type !== 'tool') return;
  const { name } = choice;
  checkOffered(name, new Set(tools.map((tool) => Reflect.get(tool, 'name'))), 'tool_choice.name');
}

function checkUses(tool: object, index: number): void {
  const most: unknown = Reflect.get(tool, 'max_uses');
  if (most == null || isUseLimit(most)) return;
  const param = `tools[${index}].max_uses`;
  throw new SignalboxError('out_of_range', `\`${param}\` must be a whole number from 1 to ${USES_MAX}.`, { param });
}

/** The members of a message block or tool result block that `check.ts` checks. */
interface CheckedBlock {
  readonly type: string;
  readonly source?: unknown;
  readonly content?: unknown;
}

function checkBlocks(blocks: readonly CheckedBlock[], at: OriginalPath): void {
  for (let i = 0; i < blocks.length; i++) {
    const block = blocks[i]!;
    if (hasMark(block)) checkMark(block, [...at, i]);
    const { type, source, content } = block;
    if (type === 'container_upload' || (source != null && Object(source).type === 'file')) {
      throw unsupported(
        pathText([...at, i, ...(source == null ? ['type'] : ['source', 'type'])]),
        'Files that were uploaded to a provider are not supported. Send the content as base64, or its https address.',
      );
    }
    if (type === 'tool_result' && Array.isArray(content)) checkBlocks(content, [...at, i, 'content']);
  }
}

/** The check creates a path only for a block that has a cache mark, to save time. */
const hasMark = (owner: object): boolean => Reflect.get(owner, 'cache_control') != null;

/** Rejects cache marks with a lifetime that has no price. */
function checkMark(owner: object, at: OriginalPath): void {
  const mark: unknown = Reflect.get(owner, 'cache_control');
  if (mark == null) return;
  const ttl: unknown = Reflect.get(Object(mark), 'ttl');
  if (ttl == null || ttl === '5m' || ttl === '1h') return;
  throw invalid(pathText([...at, 'cache_control', 'ttl']), '`ttl` must be `5m` or `1h`.');
}
