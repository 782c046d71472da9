import type { Block } from './cache.ts';

/**
 * Instructions within a conversation, for models without system messages there: text of the user in the marks that Claude Code
 * writes for them (code.claude.com/docs/en/agent-sdk/modifying-system-prompts). The top-level system prompt stays as it is: a change there
 * would invalidate the cache and signed thoughts of all later turns.
 */
export const asReminder = (block: Block): Block =>
  typeof block.text === 'string' ? { ...block, text: `<system-reminder>\n${block.text}\n</system-reminder>` } : block;
