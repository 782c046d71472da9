import type { Block } from './cache.ts';

/**
 * Converts instructions within a conversation for models that do not accept system messages there: they become text of the user with the
 * marks that Claude Code uses (code.claude.com/docs/en/agent-sdk/modifying-system-prompts). The top-level system prompt is not changed,
 * because a changed system prompt would invalidate the cache and the signed thinking of all later turns.
 */
export const asReminder = (block: Block): Block =>
  typeof block.text === 'string' ? { ...block, text: `<system-reminder>\n${block.text}\n</system-reminder>` } : block;
